"""xPos and PoPE, against the papers."""

import math

import pytest
import torch
from x_transformers.x_transformers import (
    PolarEmbedding,
    RotaryEmbedding,
    apply_polar_pos_emb,
    apply_rotary_pos_emb,
)

from models.encodings import load
from tests.papers.loops import (
    HEADS,
    LENGTH,
    NEVER,
    WIDTH,
    by_pair,
    content,
    geometric,
    logits_of,
    planes,
    random,
)
from tests.tolerance import agree

D = WIDTH


def xpos_logit(q: list[float], k: list[float], distance: int, scale_base: float, layout: str) -> float:
    """Return the sum over pairs of zeta^(distance / scale_base) Re(q conj(k) e^(i distance frequency)), over
    sqrt(D)."""
    total = 0.0
    pairs = zip(planes(q, layout, D), planes(k, layout, D), geometric(D, 10_000), strict=True)
    for f, (a, b, frequency) in enumerate(pairs):
        zeta = (2 * f + 0.4 * D) / (1.4 * D)
        turned = a * b.conjugate() * complex(math.cos(distance * frequency), math.sin(distance * frequency))
        total += zeta ** (distance / scale_base) * turned.real
    return total / math.sqrt(D)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("scale_base", [4, 512])
def test_xpos(layout: str, scale_base: int) -> None:
    q, k = content()

    def expected(h: int, i: int, j: int) -> float:
        return xpos_logit(q[0, h, i].tolist(), k[0, h, j].tolist(), i - j, scale_base, layout)

    encoding = load("xpos", head_width=D, length=32, scale_base=scale_base, layout=layout)
    agree(logits_of(encoding, q, k), by_pair(expected, HEADS, LENGTH))


def test_xpos_of_x_transformers() -> None:
    q, k = content()
    turn, scale = RotaryEmbedding(D, use_xpos=True, scale_base=16)(torch.arange(LENGTH))
    q_turned, k_turned = apply_rotary_pos_emb(q, turn, scale), apply_rotary_pos_emb(k, turn, 1 / scale)
    ours = logits_of(load("xpos", head_width=D, length=16, layout="interleaved"), q, k)  # scale_base: 16
    theirs = (q_turned @ k_turned.mT / math.sqrt(D)).masked_fill(
        torch.ones(LENGTH, LENGTH).triu(1).bool(), NEVER
    )
    agree(ours, theirs)


@pytest.mark.float32
@pytest.mark.parametrize("gamma", [0.01, 0.067, 0.4, 4.0])
def test_xpos_is_finite_up_to_its_limit(gamma: float) -> None:
    encoding = load("xpos", head_width=8, length=4, gamma=gamma)
    q, k = content(encoding.limit)
    assert encoding.limit == 256 or gamma != 0.4
    assert logits_of(encoding, q, k).tril().isfinite().all()


@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_pope(base: float) -> None:
    """The logit is softplus(q) softplus(k) cos((j - i) base^(-c/D) + delta), with delta from zero and within
    [-2 pi, 0]."""
    q, k = content()
    encoding = load("pope", heads=HEADS, head_width=D, base=base)
    assert (encoding.delta == 0).all()
    delta = random(HEADS, 1, D, seed=3) * 3
    encoding.load_state_dict({"delta": delta})

    def expected(h: int, i: int, j: int) -> float:
        total = 0.0
        for c in range(D):
            a, b = (math.log1p(math.exp(x[0, h, t, c].item())) for x, t in ((q, i), (k, j)))
            shift = min(0.0, max(-2 * math.pi, delta[h, 0, c].item()))
            total += a * b * math.cos((j - i) * base ** (-c / D) + shift)
        return total / math.sqrt(D)

    agree(logits_of(encoding, q, k), by_pair(expected, HEADS, LENGTH))


def test_pope_of_x_transformers() -> None:
    q, k = content()
    delta = -random(HEADS, 1, D, seed=3).abs()
    ours, theirs = load("pope", heads=HEADS, head_width=D), PolarEmbedding(D, HEADS)
    ours.load_state_dict({"delta": delta})
    theirs.learned_bias.data.copy_(delta)
    turn, bias = theirs(torch.arange(LENGTH))
    q_turned, k_turned = apply_polar_pos_emb(q, turn), apply_polar_pos_emb(k, turn + bias)
    agree(logits_of(ours, q, k, causal=False), q_turned @ k_turned.mT / math.sqrt(D))


def test_pope_learns_past_its_bounds() -> None:
    """A delta outside [-2 pi, 0] still has a gradient that leads back."""
    q, k = content()
    encoding = load("pope", heads=HEADS, head_width=D)
    torch.nn.init.constant_(encoding.delta, 0.1)
    logits_of(encoding, q, k, causal=False).square().sum().backward()
    assert (encoding.delta.grad != 0).all()
