"""Casts to bfloat16, against formulas in Python's float64 with an independent rounding."""

import cmath
import math
from collections.abc import Callable
from functools import partial
from itertools import combinations

import pytest
import torch
from torch import Tensor

from models.attention import logits
from models.effect import Positions
from models.encoding import Encoding
from models.encodings import extend, load
from models.extensions.bfloat16 import PLACES, round_to_bfloat16
from tests.conftest import late
from tests.papers.loops import NEVER, geometric, planes, random
from tests.tolerance import agree

SHAPE = {"heads": 2, "head_width": 8, "width": 16, "depth": 1, "length": 64}
AT = (0, 3, 255, 256, 257, 300, 511, 514, 1021, 1023)  # some that bfloat16 has, some that it has not
SPAN = 1024


def nearest(x: float) -> float:
    """Return a number rounded to eight significant bits, ties to even."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(mantissa * 256), exponent - 8)


def whole(x: int) -> int:
    return int(nearest(x))


def content() -> tuple[Tensor, Tensor]:
    """Return q and k."""
    return random(1, 2, len(AT), 8, seed=1), random(1, 2, len(AT), 8, seed=2)


def logits_of(name: str, what: tuple[str, ...], **parameters: object) -> Tensor:
    """Return the logits (1, H, T, T) of tokens at the positions `AT`."""
    q, k = content()
    extended = extend("bfloat16", load(name, **SHAPE, **parameters), what="+".join(what))
    return logits(q, k, extended.effect_at(Positions(torch.tensor(AT), SPAN)))


def biased_logits(bias: Callable[[int, int, int], float]) -> Tensor:
    """Return q.k / sqrt(D) + bias(head, query's position, key's position)."""
    q, k = (t.double() for t in content())
    result = q @ k.mT / math.sqrt(8)
    for h in range(2):
        for a, i in enumerate(AT):
            for b, j in enumerate(AT):
                result[0, h, a, b] = result[0, h, a, b] + bias(h, i, j) if j <= i else NEVER
    return result


def rounded_distance(i: int, j: int, what: tuple[str, ...]) -> int:
    """Return the distance to the key, as the rounded model sees it."""
    if "positions" in what:
        i, j = whole(i), whole(j)
    return whole(i - j) if "distances" in what else i - j


def test_rounding() -> None:
    for x in (*range(3000), *random(2000).tolist(), 15_962, 1e-30, -257.0):
        assert round_to_bfloat16(torch.tensor(x)).item() == nearest(x)


def test_gradients_pass_unrounded() -> None:
    x = torch.tensor([0.1, 257.3, -4097.0], requires_grad=True)
    (3.01 * round_to_bfloat16(x)).sum().backward()
    assert round_to_bfloat16(x).tolist() == [nearest(v) for v in x.tolist()]
    assert x.grad.tolist() == pytest.approx([3.01] * 3, rel=1e-7)


WHATS = [chosen for size in (1, 2, 4) for chosen in combinations(PLACES, size)]


@pytest.mark.parametrize("what", WHATS, ids="+".join)
def test_alibi(what: tuple[str, ...]) -> None:
    def bias(h: int, i: int, j: int) -> float:
        value = -(2.0 ** (-4 * (h + 1))) * rounded_distance(i, j, what)
        return nearest(value) if "biases" in what else value

    agree(logits_of("alibi", what), biased_logits(bias))


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("what", WHATS, ids="+".join)
def test_rope(what: tuple[str, ...], layout: str) -> None:
    """The angle is a product: bfloat16 if both factors are, otherwise exact."""
    frequencies = geometric(8, 10_000)
    if "frequencies" in what:
        frequencies = [nearest(f) for f in frequencies]

    def turn(position: int, frequency: float) -> complex:
        angle = (whole(position) if "positions" in what else position) * frequency
        return cmath.exp(1j * (nearest(angle) if {"positions", "frequencies"} <= set(what) else angle))

    def turned(x: Tensor, position: int) -> list[complex]:
        pairs = planes(x.double().tolist(), layout, 8)
        return [z * turn(position, f) for z, f in zip(pairs, frequencies, strict=True)]

    q, k = content()
    expected = torch.full((1, 2, len(AT), len(AT)), NEVER, dtype=torch.float64)
    for h in range(2):
        for a, i in enumerate(AT):
            for b, j in enumerate(AT[: a + 1]):
                pairs = zip(turned(q[0, h, a], i), turned(k[0, h, b], j), strict=True)
                expected[0, h, a, b] = sum((x * y.conjugate()).real for x, y in pairs) / math.sqrt(8)
    agree(logits_of("rope", what, layout=layout), expected)


def test_neighbours_on_one_place() -> None:
    """RoPE and sinusoids take 257 for 256."""
    at = Positions.of(300)
    x = torch.zeros(1, 300, 16)
    vectors = sinusoids("positions").effect_at(at).embed(x)[0]
    assert torch.equal(vectors[257], vectors[256])
    assert not torch.equal(vectors[255], vectors[256])
    expected = sinusoids("frequencies").effect_at(Positions.of(257)).embed(x[:, :257])[0, 256]
    assert torch.equal(vectors[257], expected)


def sinusoids(what: str) -> Encoding:
    return extend("bfloat16", load("sinusoidal", **SHAPE), what=what)


def test_fire() -> None:
    """FIRE's bias uses both positions: the query's is rounded as a position, the distance as a distance."""
    torch.manual_seed(0)
    fire = load("fire", **SHAPE)
    surface = fire.requires_grad_(False).effect_at(Positions.of(SPAN)).bias

    def bias(h: int, i: int, j: int, what: tuple[str, ...]) -> float:
        query = whole(i) if "positions" in what else i
        key = query - rounded_distance(i, j, what)
        return float(surface(torch.tensor([[query]]), torch.tensor([[key]]))[h])

    q, k = content()
    for what in (("positions",), ("distances",), ("positions", "distances")):
        effect = extend("bfloat16", fire, what="+".join(what)).effect_at(Positions(torch.tensor(AT), SPAN))
        agree(logits(q, k, effect), biased_logits(partial(bias, what=what)))


def test_sums_of_gates() -> None:
    """The Forgetting Transformer's sums are rounded before they are subtracted."""
    fox, x = load("fox", **SHAPE), 5 * random(1, len(AT), 16, seed=3)
    q, k = content()
    height = fox.log_decay(x).detach()[0].tolist()
    place = {at: n for n, at in enumerate(AT)}

    def bias(h: int, i: int, j: int) -> float:
        return nearest(height[h][place[i]]) - nearest(height[h][place[j]])

    rounded = extend("bfloat16", fox, what="biases")
    agree(logits(q, k, late(rounded, Positions(torch.tensor(AT), SPAN), x, q, k, q)), biased_logits(bias))


def test_what_counts_up_to_256_is_safe() -> None:
    """T5's buckets and Shaw's vectors are the same for all distances past their reach."""
    for name in ("t5", "shaw"):
        torch.manual_seed(0)
        encoding = load(name, **SHAPE)
        both = encoding, extend("bfloat16", encoding, what="distances")
        plain, cast = (e.effect_at(Positions(torch.tensor(AT), SPAN)) for e in both)
        assert torch.equal(logits(*content(), plain), logits(*content(), cast))


def test_parameters() -> None:
    with pytest.raises(ValueError, match=r"extension.what=angles must be all, or some of posi"):
        extend("bfloat16", load("rope", **SHAPE), what="angles")
    with pytest.raises(ValueError, match="does not fit Learned; it fits: "):
        extend("bfloat16", load("learned", **SHAPE))
    exact = logits(*content(), load("rope", **SHAPE).effect_at(Positions(torch.tensor(AT), SPAN)))
    assert torch.equal(logits_of("rope", ("distances",)), exact)
    assert torch.equal(logits_of("rope", ("all",)), logits_of("rope", PLACES))
