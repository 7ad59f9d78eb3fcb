"""Reading near and far keys apart gives the same as reading all of them at once."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from models.attention import attend, choose, far_keys, logits
from models.distance import ByDistance, Window
from models.effect import Adjust, Effect, FarKeys, Positions
from tests.conftest import Method, members
from tests.tolerance import agree, float64

T, H, D = 300, 4, 8
CLIPPED = ("shaw", "deberta", "rope+rerope", "rope+leaky_rerope", "rope+self_extend")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the band start at short sequences, which are cheap."""
    monkeypatch.setattr(far_keys, "LEAST", T)
    monkeypatch.setattr(far_keys, "ROWS", 32)


def content(scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, H, T, D, generator=draw).double() for _ in range(3))
    return q * scale, k, v


def shifted(window: int, height: float = 1.0) -> Effect:
    """Return an effect that raises near logits, lengthens one far feature and shortens the other."""
    far = FarKeys(window, lambda q, k: (1.5 * q, k / 2))
    at = Positions.of(T)

    def adjust(found: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.where(i - j < window, found + height, 0.75 * found)

    return Effect(at, adjust=Adjust(adjust, far))


@torch.no_grad()
@pytest.mark.parametrize("method", CLIPPED)
def test_of_methods_that_clip_distances(method: str) -> None:
    q, k, v = content()
    with float64():
        for member in members(Method(*method.split("+")).exact):
            effect = member.effect_at(Positions.of(T))
            assert choose(q, effect) == "band"
            agree(attend(q, k, v, effect), attend(q, k, v, effect, kernel="reference"))


@torch.no_grad()
@pytest.mark.parametrize("window", [1, 2, 25, 75])
@pytest.mark.parametrize(("scale", "height"), [(0, 1), (1, 1), (20, 1), (1, -200), (1, 200)])
def test_the_same_as_all_at_once(window: int, scale: float, height: float) -> None:
    """This holds even where near keys drown the far ones, and the other way round."""
    q, k, v = content(scale)
    effect = shifted(window, height)
    assert choose(q, effect) == "band"
    with float64():
        agree(attend(q, k, v, effect), attend(q, k, v, effect, kernel="reference"))


@torch.no_grad()
@pytest.mark.parametrize("name", ["shaw", "deberta"])
def test_the_tail_says_what_the_logits_say(name: str) -> None:
    q, k, _ = content()
    encoding = members(Method(name).exact)[0]
    with float64():
        effect = encoding.effect_at(Positions.of(T))
        tail = effect.adjust.far_keys
        far_q, far_k = tail.rotate(q, k)
        i, j = torch.arange(T)[:, None], torch.arange(T)[None]
        far = i - j >= tail.start
        agree((far_q @ far_k.mT * D**-0.5)[..., far], logits(q, k, effect)[..., far])


@torch.no_grad()
def test_where_it_does_not_apply() -> None:
    q, _, _ = content()
    effect, at = shifted(40), Positions.of(T)
    others = [
        Effect(at),
        replace(effect, adjust=Adjust(effect.adjust.function)),
        replace(effect, sink=torch.zeros(H, 1)),
        replace(effect, bias=ByDistance(lambda distance: -distance.expand(H, -1))),
        shifted(T // 2),
        replace(effect, visible=Window(T // 2)),
        replace(effect, logit_scale=torch.ones(1, T)),
        replace(effect, positions=Positions(2 * torch.arange(T), 2 * T)),
        replace(effect, positions=Positions.of(T, causal=False)),
    ]
    assert [choose(q, other) for other in others].count("band") == 0
    with torch.enable_grad():
        assert choose(q, effect) == "explicit"
