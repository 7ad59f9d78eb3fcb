"""Scale-invariant attention, against the paper's two conditions and its constants."""

import math

import pytest
import torch

from models.attention import attend, logits
from models.effect import Positions
from models.encodings import extend, load
from tests.papers.loops import BOTH, FREQUENCIES, HEADS, LENGTH, SHAPE, by_pair, content, logits_of, rotary
from tests.tolerance import agree

TAU = 10.0


def multiplied(t: float, tau: float = TAU) -> float:
    return math.sqrt(2 * math.log(t / tau + 1) + 1)


def shifted(t: float, tau: float = TAU) -> float:
    return -2 * math.log(t / tau + 1)


@BOTH
@pytest.mark.parametrize("tau", [1.0, 10.0])
def test_scale_invariant(causal: bool, tau: float) -> None:
    """The logit is a_t times that of p-RoPE, plus m_t."""
    q, k = content()
    frequencies = [f if n < 3 else 0.0 for n, f in enumerate(FREQUENCIES)]
    plain = rotary(q, k, frequencies, seen=lambda i, j: j <= i or not causal)

    def logit(h: int, i: int, j: int) -> float:
        return multiplied(abs(i - j), tau) * float(plain[0, h, i, j]) + shifted(abs(i - j), tau)

    encoding = load("scale_invariant", **SHAPE, tau=tau)
    agree(logits_of(encoding, q, k, causal), by_pair(logit, HEADS, LENGTH, causal))


def test_its_two_conditions() -> None:
    """For normal logits, the mean of exp falls as 1 / (t / tau + 1), and so does that of logit * exp."""
    for t in (0.0, 3.0, 40.0, 1e4):
        a, m = multiplied(t), shifted(t)
        weight = math.exp(m + a * a / 2)
        assert weight * (t / TAU + 1) == pytest.approx(math.exp(0.5))
        assert (m + a * a) * weight * (t / TAU + 1) == pytest.approx(math.exp(0.5))
    assert (multiplied(0), shifted(0)) == (1, 0)


def test_yarn_changes_its_rotation_alone() -> None:
    plain = load("scale_invariant", **SHAPE)
    before, after = (e.effect_at(Positions.of(60)) for e in (plain, extend("yarn", plain)))
    assert after.parts == before.parts
    q, k = content(60)
    zero = torch.zeros_like(q)
    agree(logits(zero, zero, after), logits(zero, zero, before))
    assert not torch.equal(attend(q, k, q, after), attend(q, k, q, before))
