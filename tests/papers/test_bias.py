"""Biases by distance, and by both positions, against the papers."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.functional import softplus
from transformers.models.bloom.modeling_bloom import _get_alibi_slopes
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention
from x_transformers.x_transformers import AlibiPositionalBias

from models.effect import Positions
from models.encoding import Encoding
from models.encodings import load
from models.encodings.bam import BAM
from models.encodings.kerple import KERPLELog, KERPLEPower
from tests.conftest import perturb
from tests.papers.loops import BOTH, HEADS, SHAPE, SLOPES, WIDTH, biased_logits, content, logits_of
from tests.tolerance import agree, error
from tests.vectors.biases import t5_bucket


def bias(encoding: Encoding, i: int, j: int = 0, length: int = 2048) -> list[float]:
    """Return the bias that every head adds for one query and one key."""
    effect = encoding.effect_at(Positions.of(length))
    return effect.bias(torch.tensor([[i]]), torch.tensor([[j]])).flatten().tolist()


# ---- ALiBi

SLOPES_OF = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [*SLOPES],
    8: [2**-n for n in range(1, 9)],
    12: [2**-n for n in range(1, 9)] + [0.70710678, 0.35355339, 0.1767767, 0.08838835],
}


@pytest.mark.parametrize("name", ["alibi", "alibi_learned"])
@pytest.mark.parametrize("heads", SLOPES_OF)
def test_alibi_slopes(name: str, heads: int) -> None:
    encoding = load(name, heads=heads)
    assert bias(encoding, 1) == pytest.approx([-m for m in SLOPES_OF[heads]])
    assert bias(encoding, 1000) == pytest.approx([-1000 * m for m in SLOPES_OF[heads]])


@BOTH
@pytest.mark.parametrize("name", ["alibi", "alibi_learned"])
def test_alibi(name: str, causal: bool) -> None:
    q, k = content(heads=3)
    expected = biased_logits(q, k, lambda h, i, j: -SLOPES[h] * abs(i - j), causal)
    agree(logits_of(load(name, heads=3), q, k, causal), expected)


def test_alibi_of_bloom_mpt_and_x_transformers() -> None:
    for heads in range(1, 25):
        slopes = -torch.tensor(bias(load("alibi", heads=heads), 1))
        agree(slopes, _get_alibi_slopes(heads, "cpu"))
        agree(slopes, (build_mpt_alibi_tensor(heads, 2) @ torch.tensor([-1.0, 1.0])).flatten())
    ours = load("alibi", heads=12).effect_at(Positions.of(20)).bias
    at = torch.arange(20)
    agree(ours(at[:, None], at[None]).tril(), AlibiPositionalBias(12)(20, 20).tril())


# ---- T5


@BOTH
@pytest.mark.parametrize(("buckets", "reach"), [(32, 128), (32, 32), (8, 20), (16, 100)])
def test_t5(buckets: int, reach: int, causal: bool) -> None:
    """A bidirectional model uses half of the buckets for keys behind and half for keys ahead."""
    q, k = content(40, heads=2)
    encoding = perturb(load("t5", heads=2, head_width=WIDTH, length=64, buckets=buckets, reach=reach))
    table = (encoding.table.double() * WIDTH**0.5).tolist()
    behind = buckets if causal else buckets // 2

    def expected(h: int, i: int, j: int) -> float:
        return table[h][t5_bucket(abs(i - j), behind, reach) + (behind if j > i else 0)]

    agree(logits_of(encoding, q, k, causal), biased_logits(q, k, expected, causal))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("buckets", "reach"), [(32, 128), (32, 32), (64, 256), (16, 100)])
def test_t5_buckets_of_transformers(causal: bool, buckets: int, reach: int) -> None:
    encoding = load("t5", heads=1, head_width=1, length=512, buckets=buckets, reach=reach)
    with torch.no_grad():
        encoding.table.copy_(torch.arange(float(buckets))[None])
    positions = Positions.of(3000, causal=causal)
    ours = encoding.effect_at(positions).bias
    distances = torch.arange(0 if causal else -2999, 3000)
    theirs = T5Attention._relative_position_bucket(-distances, not causal, buckets, reach)
    assert torch.equal(ours.function(distances)[0].long(), theirs)


@pytest.mark.parametrize(("length", "reach"), [(512, 128), (2048, 128), (128, 64), (64, 32), (16, 17)])
def test_t5_reaches_half_the_training_length(length: int, reach: int) -> None:
    encoding = load("t5", heads=1, head_width=1, length=length)
    assert encoding.reach == reach


def test_t5_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="reach above half"):
        load("t5", heads=1, head_width=1, length=512, reach=16)


# ---- KERPLE and other curves


CURVES: dict[str, Callable[[Any, int, int], torch.Tensor]] = {
    "alibi_learned": lambda of, h, d: -of.log_slope[h].exp() * d,
    "kerple_log": lambda of, h, d: -softplus(of.r1)[h] * (softplus(of.r2)[h] * d).log1p(),
    "kerple_power": lambda of, h, d: -softplus(of.r1)[h] * d ** (2 * of.r2.sigmoid()[h]),
    "bam": lambda of, h, d: -of.log_scale[h].exp() * (d + 1e-5) ** of.exponent[h],
}
"""What the parameters of an encoding give for a head and a distance."""


@BOTH
@pytest.mark.parametrize("name", CURVES)
def test_curves(name: str, causal: bool) -> None:
    q, k = content()
    encoding = perturb(load(name, heads=HEADS)).requires_grad_(False)
    expected = biased_logits(q, k, lambda h, i, j: float(CURVES[name](encoding, h, abs(i - j))), causal)
    agree(logits_of(encoding, q, k, causal), expected)


def test_kerple_starts_where_the_authors_start() -> None:
    torch.manual_seed(0)
    log, power = KERPLELog(4000), KERPLEPower(4000)
    for start, highest in (
        (softplus(log.r1), 2),
        (softplus(log.r2), 1),
        (softplus(power.r1), 1),
        (2 * power.r2.sigmoid(), 2),
    ):
        assert start.min() > 0
        assert start.max() < highest
        assert start.mean().item() == pytest.approx(highest / 2, abs=0.03 * highest)
        assert start.std().item() == pytest.approx(highest / math.sqrt(12), abs=0.03 * highest)


# ---- Sandwich


def sandwich(h: int, distance: int, heads: int, dimensions: int) -> float:
    waves = math.fsum(math.cos(distance / 10_000 ** (2 * f / dimensions)) for f in range(dimensions // 2))
    return waves / (8 * (h + 1) / heads)


@BOTH
@pytest.mark.parametrize("dimensions", [128, 6])
def test_sandwich(dimensions: int, causal: bool) -> None:
    """It holds up to a constant for each head, which softmax ignores."""
    q, k = content()

    def expected(h: int, i: int, j: int) -> float:
        return sandwich(h, i - j, HEADS, dimensions) - sandwich(h, 0, HEADS, dimensions)

    encoding = load("sandwich", heads=HEADS, dimensions=dimensions)
    agree(logits_of(encoding, q, k, causal), biased_logits(q, k, expected, causal))


# ---- BAM


def test_bam_starts_as_alibi() -> None:
    q, k = content()
    bam, alibi = (logits_of(load(name, heads=HEADS), q, k) for name in ("bam", "alibi"))
    assert error(bam, alibi) <= 1e-5  # what it adds to every distance


def test_bam_with_a_negative_exponent_looks_away() -> None:
    """The paper's retrieval heads cannot see the token itself, but see the far past."""
    encoding = BAM(1)
    with torch.no_grad():
        encoding.log_scale.zero_()
        encoding.exponent.fill_(-0.5)
    assert bias(encoding, 0) == pytest.approx([-316.2278], rel=1e-4)
    assert bias(encoding, 400) == pytest.approx([-0.05])


# ---- FIRE


def psi(x: float, c: float) -> float:
    return math.log(abs(c * x) + 1)


@BOTH
@pytest.mark.parametrize("length", [4, 16])
@pytest.mark.parametrize("learning", [True, False], ids=["learning", "evaluated"])
def test_fire(learning: bool, length: int, causal: bool) -> None:
    """The threshold lies inside the sequence or beyond it; all units are included, or those that bend."""
    q, k = content()
    encoding = perturb(load("fire", **SHAPE | {"length": length}, hidden=24))
    c, threshold = encoding.c.item(), abs(encoding.threshold.item() * length)
    into, into_bias = encoding.read.weight[:, 0].tolist(), encoding.read.bias.tolist()
    out, out_bias = encoding.write.weight.tolist(), encoding.write.bias.tolist()

    def expected(h: int, i: int, j: int) -> float:
        ratio = psi(i - j, c) / (psi(max(i, threshold), c) + 1e-6)
        hidden = [max(0.0, w * ratio + b) for w, b in zip(into, into_bias, strict=True)]
        return math.fsum(w * x for w, x in zip(out[h], hidden, strict=True)) + out_bias[h]

    with torch.set_grad_enabled(learning):
        agree(logits_of(encoding, q, k, causal), biased_logits(q, k, expected, causal))


def test_fire_has_462_parameters_at_12_heads() -> None:
    assert sum(p.numel() for p in load("fire", heads=12, length=512).parameters()) == 462
