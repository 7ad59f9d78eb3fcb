"""Logits of one pair of tokens at a time, in Python's float64, for formulas that are not rotations."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from models.effect import Encoding
from models.encodings import load
from tests.papers.loops import NEVER, random

HEADS, LENGTH, WIDTH = 3, 13, 8
SHAPE = {"heads": HEADS, "head_width": WIDTH, "width": HEADS * WIDTH, "depth": 2, "length": 16}
Logit = Callable[[int, int, int], float]  # head, query, key
Bias = Callable[[int, int, int], float]


def content(length: int = LENGTH, heads: int = HEADS, width: int = WIDTH) -> tuple[Tensor, Tensor]:
    """q and k"""
    return random(1, heads, length, width, seed=1), random(1, heads, length, width, seed=2)


def plain(name: str = "rope", **more: Any) -> Encoding:
    return load(name, **SHAPE, **more)


def dot(a: Tensor, b: Tensor) -> float:
    return math.fsum(x * y for x, y in zip(a.double().tolist(), b.double().tolist(), strict=True))


def by_pair(logit: Logit, heads: int, length: int, causal: bool = True) -> Tensor:
    """(1, H, T, T)"""
    result = torch.full((1, heads, length, length), NEVER, dtype=torch.float64)
    for h in range(heads):
        for i in range(length):
            for j in range(i + 1 if causal else length):
                result[0, h, i, j] = logit(h, i, j)
    return result


def biased(q: Tensor, k: Tensor, bias: Bias, causal: bool = True) -> Tensor:
    """(1, H, T, T) q.k / sqrt(D) + bias"""

    def logit(h: int, i: int, j: int) -> float:
        return dot(q[0, h, i], k[0, h, j]) / math.sqrt(q.size(-1)) + bias(h, i, j)

    return by_pair(logit, q.size(1), q.size(2), causal)
