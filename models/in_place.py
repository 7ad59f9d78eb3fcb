"""Logits become attention weights in place, by loops in C: all that is done to a logit in one pass."""

import ctypes
from dataclasses import dataclass

from torch import Tensor

from models.native import Loops, integers


@dataclass(frozen=True)
class Lines:
    """A number for each pair as it lies in memory, where the lines of queries may overlap."""

    numbers: Tensor  # (1 or B, 1 or H, ...) from those of the first query on
    step: int  # from there to those of the next query

    @classmethod
    def of(cls, x: Tensor, backwards: bool = False) -> "Lines":
        """Of x (..., 1 or H, R, K); `backwards`: from the last query to the first."""
        x = (x if x.dim() == 4 else x[None]).float()  # as the loops read them
        x = x if x.stride(-1) == 1 else x.contiguous()
        return cls(x[..., -1:, :], -x.stride(-2)) if backwards else cls(x, x.stride(-2))

    def at(self, b: int, h: int) -> tuple[Tensor, ctypes.Array]:
        """From a sequence and a head on: where they begin, and strides of sequences, heads and queries."""
        (sequences, heads), (of_b, of_h) = self.numbers.shape[:2], self.numbers.stride()[:2]
        own = self.numbers[b if sequences > 1 else 0, h if heads > 1 else 0]
        return own, integers(of_b if sequences > 1 else 0, of_h if heads > 1 else 0, self.step)


@dataclass(frozen=True)
class InPlace:
    """softmax(scale * factor * logits + mask) beside a sink, for some queries."""

    by_c: Loops
    ends: Tensor  # behind the last key that each query sees: (R,), or as many for each sequence and head
    scale: float = 1.0
    factor: Lines | None = None  # never without a mask
    mask: Lines | None = None  # of itself all keys but those behind `ends` are seen
    sink: Lines | None = None

    def forward(self, logits: Tensor, b: int = 0, h: int = 0) -> Tensor:
        """Logits (..., R, K) from a sequence and a head on become weights."""
        logits, (sequences, heads) = logits.contiguous(), logits.shape[:-2] or (1, 1)
        given = [lines.at(b, h) if lines else (None, None) for lines in (self.factor, self.mask, self.sink)]
        sizes = sequences, heads, *logits.shape[-2:]
        self.by_c("forward", *sizes, logits, self.scale, *sum(given, ()), self.ends.numel(), self.ends)
        return logits

    def backward(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """The gradient of weights becomes that of logits, but for the factor."""
        columns = weights.size(-1)
        sizes = weights.numel() // columns, columns
        self.by_c("backward", *sizes, weights, gradient, self.scale, self.ends.numel(), self.ends)
        return gradient
