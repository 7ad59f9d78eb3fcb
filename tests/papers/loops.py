"""Attention logits written out pair by pair in float64, from the papers and not from the code."""

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from models.attention import logits
from models.effect import Positions
from models.encoding import Encoding
from models.encodings import load
from tests.vectors.rotary import geometric

HEADS, LENGTH, WIDTH = 3, 13, 8
SHAPE = {"heads": HEADS, "head_width": WIDTH, "width": HEADS * WIDTH, "depth": 2, "length": 16}
NEVER = float("-inf")
SLOPES = 0.0625, 0.00390625, 0.25  # of ALiBi's three heads
BOTH = pytest.mark.parametrize("causal", [True, False], ids=["causal", "both"])
Distance = Callable[[int, int], float]
Seen = Callable[[int, int], bool]
Logit = Callable[[int, int, int], float]  # head, query, key


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def content(length: int = LENGTH, heads: int = HEADS, width: int = WIDTH) -> tuple[Tensor, Tensor]:
    """Return q and k."""
    return random(1, heads, length, width, seed=1), random(1, heads, length, width, seed=2)


def plain(name: str = "rope", **more: Any) -> Encoding:
    return load(name, **SHAPE, **more)


def logits_of(encoding: Encoding, q: Tensor, k: Tensor, causal: bool = True) -> Tensor:
    """Return the logits (1, H, T, T) of q and k under the encoding."""
    return logits(q, k, encoding.effect_at(Positions.of(q.size(-2), causal=causal)))


def by_pair(logit: Logit, heads: int, length: int, causal: bool = True) -> Tensor:
    """Return logits (1, H, T, T), pair by pair."""
    result = torch.full((1, heads, length, length), NEVER, dtype=torch.float64)
    for h in range(heads):
        for i in range(length):
            for j in range(i + 1 if causal else length):
                result[0, h, i, j] = logit(h, i, j)
    return result


def dot(a: Tensor, b: Tensor) -> float:
    return math.fsum(x * y for x, y in zip(a.double().tolist(), b.double().tolist(), strict=True))


def biased_logits(q: Tensor, k: Tensor, bias: Logit, causal: bool = True) -> Tensor:
    """Return q.k / sqrt(D) + bias (1, H, T, T)."""

    def logit(h: int, i: int, j: int) -> float:
        return dot(q[0, h, i], k[0, h, j]) / math.sqrt(q.size(-1)) + bias(h, i, j)

    return by_pair(logit, q.size(1), q.size(2), causal)


def planes(x: Sequence[float], layout: str, rotating: int) -> list[complex]:
    """Return the first `rotating` features of a token as complex numbers, one for each pair."""
    if layout == "half":
        return [complex(x[f], x[f + rotating // 2]) for f in range(rotating // 2)]
    return [complex(x[2 * f], x[2 * f + 1]) for f in range(rotating // 2)]


FREQUENCIES = geometric(WIDTH, 10_000)


def rotary(
    q: Tensor,
    k: Tensor,
    frequencies: Sequence[float],
    distance: Distance = lambda i, j: i - j,
    magnitude: float = 1.0,
    layout: str = "interleaved",
    seen: Seen = lambda i, j: j <= i,
    temperature: Callable[[int], float] = lambda i: 1.0,
) -> Tensor:
    """Return logits (1, H, T, T) after rotating each pair of features by distance * frequency."""
    rotating, queries, keys = 2 * len(frequencies), q[0].double().tolist(), k[0].double().tolist()

    def logit(h: int, i: int, j: int) -> float:
        if not seen(i, j):
            return NEVER
        a, b, d = queries[h][i], keys[h][j], distance(i, j)
        pairs = zip(planes(a, layout, rotating), planes(b, layout, rotating), frequencies, strict=True)
        turned = sum((x * y.conjugate() * cmath.exp(1j * d * f)).real for x, y, f in pairs)
        still = sum(x * y for x, y in zip(a[rotating:], b[rotating:], strict=True))
        return (turned * magnitude**2 + still) / math.sqrt(q.size(-1)) * temperature(i)

    return by_pair(logit, q.size(1), q.size(2), causal=False)
