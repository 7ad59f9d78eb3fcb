"""Attention logits written out pair by pair in float64, from the papers and not from the code."""

import cmath
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from models.attention import logits
from models.effect import Encoding, Positions

NEVER = float("-inf")
Distance = Callable[[int, int], float]
Seen = Callable[[int, int], bool]


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def found(encoding: Encoding, q: Tensor, k: Tensor, causal: bool = True) -> Tensor:
    """(1, H, T, T) what the encoding makes of q and k."""
    return logits(q, k, encoding.effect_at(Positions.of(q.size(-2), causal=causal)), causal)


def planes(x: Sequence[float], layout: str, rotating: int) -> list[complex]:
    """The first `rotating` features of one token as complex numbers, one a pair."""
    if layout == "half":
        return [complex(x[f], x[f + rotating // 2]) for f in range(rotating // 2)]
    return [complex(x[2 * f], x[2 * f + 1]) for f in range(rotating // 2)]


def geometric(width: int, base: float) -> list[float]:
    return [base ** (-2 * f / width) for f in range(width // 2)]


def rotary(
    q: Tensor,
    k: Tensor,
    frequencies: Sequence[float],
    distance: Distance = lambda i, j: i - j,
    magnitude: float = 1.0,
    layout: str = "interleaved",
    seen: Seen = lambda i, j: j <= i,
    also: Distance = lambda i, j: 0.0,
    temperature: Callable[[int], float] = lambda i: 1.0,
) -> Tensor:
    """(1, H, T, T): every pair of features turned by distance * frequency; the rest is still."""
    heads, length, width = q.shape[1:]
    rotating = 2 * len(frequencies)
    result = torch.full((1, heads, length, length), NEVER, dtype=torch.float64)
    for h in range(heads):
        queries, keys = q[0, h].double().tolist(), k[0, h].double().tolist()
        for i in range(length):
            for j in range(length):
                if not seen(i, j):
                    continue
                pairs = zip(
                    planes(queries[i], layout, rotating),
                    planes(keys[j], layout, rotating),
                    frequencies,
                    strict=True,
                )
                d = distance(i, j)
                turned = sum((a * b.conjugate() * cmath.exp(1j * d * f)).real for a, b, f in pairs)
                still = sum(a * b for a, b in zip(queries[i][rotating:], keys[j][rotating:], strict=True))
                value = (turned * magnitude**2 + still) / math.sqrt(width) + also(i, j)
                result[0, h, i, j] = value * temperature(i)
    return result
