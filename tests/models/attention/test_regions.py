"""Reading the keys of each region apart gives the same as reading all of them at once."""

import pytest
import torch

from models import cpu as native
from models.attention import attend, choose, regions
from models.attention.plan import Plan
from models.distance import Window
from models.effect import Effect, Positions, Regions
from models.registry import extend, load
from tests.models.attention.forms import by_chunk, rotation, widen_far
from tests.tolerance import agree, as_accurate

pytestmark = pytest.mark.skipif(native.lacks_compiler(), reason="There is no C compiler here")
T, H, D, LENGTH = 300, 4, 8, 64
EXTENSIONS = "rerope", "leaky_rerope", "self_extend", "string", "jet_long", "lm_infinite", "sinks"


def content(groups: int = H) -> tuple[torch.Tensor, ...]:
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(2, heads, T, D, generator=draw) for heads in (H, groups, groups))


@torch.no_grad()
def check(effect: Effect, starts: tuple[int, ...] = (0, 1, T // 2, T - 1), groups: int = H) -> None:
    """Compare the kernel with the reference, for all queries and for the last ones."""
    q, k, v = content(groups)
    exact = attend(q.double(), k.double(), v.double(), effect, kernel="reference")
    plain = attend(q, k, v, effect, kernel="reference")
    for start in starts:
        found = attend(q, k, v, Plan(effect).from_query(start), kernel="regions")
        as_accurate({"out": found}, {"out": plain[:, :, start:]}, {"out": exact[:, :, start:]})


@pytest.mark.parametrize("name", EXTENSIONS)
@pytest.mark.parametrize("groups", [H, 1])
def test_of_extensions(name: str, groups: int) -> None:
    effect = extend(name, load("rope", head_width=D, heads=H, width=H * D, length=LENGTH)).effect_at(
        Positions.of(T)
    )
    with torch.no_grad():
        assert choose(content()[0], effect) == "regions"
    check(effect, groups=groups)


def test_of_chunks() -> None:
    """Chunks of a training length of 256 are long enough to be read at once, those of 32 are not."""
    for length, expected in ((256, "regions"), (32, "explicit")):
        rope = load("rope", head_width=D, heads=H, width=H * D, length=length)
        effect = extend("dual_chunk", rope).effect_at(Positions.of(T))
        with torch.no_grad():
            assert choose(content()[0], effect) == expected
        check(effect)


@pytest.mark.parametrize("visible", [None, Window(4), Window(6), Window(40), Window(4, 9), Window(90, 120)])
def test_of_keys_that_are_hidden(visible: Window | None) -> None:
    """A window ends before, at or after the border of a region, and sinks begin inside it or not."""
    far = Regions.beyond(6, rotation(0.1))
    chunks = Regions(by_chunk, (rotation(0.3), widen_far))
    check(Effect(Positions.of(T), rotate=rotation(0.3), regions=far, visible=visible))
    check(Effect(Positions.of(T), regions=chunks, visible=visible))


def test_regions_may_come_from_a_table() -> None:
    """No region is asked for beyond the last token."""
    chunk = torch.arange(T) // 70
    check(Effect(Positions.of(T), regions=Regions(lambda i, j: chunk[i] - chunk[j], (rotation(0.3),))))


def test_all_keys_are_read_once() -> None:
    effect = Effect(Positions.of(T), regions=Regions.beyond(6, rotation(0.1)), visible=Window(4, 9))
    seen = torch.zeros(T, T)
    for _, rows, keys, window in regions.runs(Plan(effect), 0):
        for row in range(rows.start, rows.stop):
            stop = keys.stop if window is None else keys.stop - (rows.stop - 1 - row)
            first = keys.start if window is None else max(keys.start, stop - window)
            seen[row, first:stop] += 1
    i, j = torch.arange(T)[:, None], torch.arange(T)
    agree(seen, ((j <= i) & Window(4, 9)(i, j)).float())


def test_where_it_does_not_apply() -> None:
    far, at = Regions.beyond(6, rotation(0.1)), Positions.of(T)
    q = content()[0]
    for effect in (
        Effect(at, rotate=rotation(0.1)),
        Effect(at, regions=far, logit_scale=torch.ones(1, T)),
        Effect(Positions(2 * torch.arange(T), 2 * T), regions=far),
        Effect(Positions.of(T, causal=False), regions=far),
    ):
        with torch.no_grad():
            assert choose(q, effect) != "regions"
    assert choose(q, Effect(at, regions=far)) == "explicit"  # it learns
    with torch.no_grad():
        assert choose(q.double(), Effect(at, regions=far)) == "explicit"  # without loops in C
