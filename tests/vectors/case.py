"""A case: the sizes, inputs and parameters that a formula turns into numbers, in float64."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Logit = Callable[[int, int, int], float]  # head, query, key
Row = list[float]

RULES = {
    "q": "q[h][i][c] = sin(1 + 0.7 i + 1.3 c + 2.1 h)",
    "k": "k[h][j][c] = cos(0.5 + 0.9 j + 0.4 c + 1.7 h)",
    "x": "x[t][c] = cos(0.2 + 0.6 t + 0.35 c)",
    "parameters": "entry n of parameter p, both from 0, the last axis fastest: 0.5 sin(0.4 + 0.9 n + 1.1 p)",
}
TRAINED, SHORT, LONG = 64, 48, 160  # tokens
PAIRS = {
    SHORT: [(0, 0), (5, 2), (20, 3), (47, 0), (47, 46)],
    LONG: [(0, 0), (5, 2), (47, 0), (63, 1), (64, 0), (100, 37), (159, 0), (159, 63), (159, 120), (159, 158)],
}


@dataclass(frozen=True)
class Case:
    """One model, one sequence and the pairs whose numbers are listed."""

    name: str
    length: int = LONG
    settings: Mapping[str, Any] = field(default_factory=dict)
    heads: int = 2
    head_width: int = 16
    trained_length: int = TRAINED
    causal: bool = True

    @property
    def width(self) -> int:
        return self.heads * self.head_width

    @property
    def factor(self) -> float:
        """Return how many times longer than in training the sequence is, at least 1."""
        return max(1.0, self.length / self.trained_length)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return the listed (query, key) pairs, those that look ahead included if the model may."""
        pairs = PAIRS.get(self.length, [])
        return pairs if self.causal else [*pairs, *((j, i) for i, j in pairs if i != j)]

    def q(self, h: int, i: int) -> Row:
        return [math.sin(1 + 0.7 * i + 1.3 * c + 2.1 * h) for c in range(self.head_width)]

    def k(self, h: int, j: int) -> Row:
        return [math.cos(0.5 + 0.9 * j + 0.4 * c + 1.7 * h) for c in range(self.head_width)]

    def x(self, t: int) -> Row:
        return [math.cos(0.2 + 0.6 * t + 0.35 * c) for c in range(self.width)]

    def product(self, h: int, i: int, j: int) -> float:
        """Return q . k / sqrt(D)."""
        return dot(self.q(h, i), self.k(h, j)) / math.sqrt(self.head_width)


@dataclass(frozen=True)
class Numbers:
    """What a formula gives for a case; what is left out does not exist for the method."""

    logit: Logit | None = None
    bias: Logit | None = None
    inv_freq: Row | None = None
    attention_factor: float | None = None  # of cos and sin
    embedding: Callable[[int], Row] | None = None  # what is added to the embedding at a position
    parameters: Mapping[str, Any] = field(default_factory=dict)  # nested lists, in the order of their rule
    buckets: Callable[[int], int] | None = None  # of a distance


def by_rule(*shape: int, p: int = 0) -> Any:
    """Return parameter number `p` as nested lists."""
    size = math.prod(shape)
    flat: list[Any] = [0.5 * math.sin(0.4 + 0.9 * n + 1.1 * p) for n in range(size)]
    for length in reversed(shape[1:]):
        flat = [flat[n : n + length] for n in range(0, len(flat), length)]
    return flat


def dot(a: Row, b: Row) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def biased(case: Case, bias: Logit, **more: Any) -> Numbers:
    """Return the numbers of a method that adds a bias to q . k / sqrt(D)."""
    return Numbers(logit=lambda h, i, j: case.product(h, i, j) + bias(h, i, j), bias=bias, **more)
