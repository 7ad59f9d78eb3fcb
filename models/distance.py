"""Numbers by distance, from a function, a table or the diagonals of a matrix; and visible keys.

At consecutive positions such numbers are a Toeplitz matrix, which has one value for each diagonal.

    H heads   R queries   K keys   N distances
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from models.ops.precision import is_inspectable

ByPair = Callable[[Tensor, Tensor], Tensor]
"""Positions of queries (..., R, 1) and of keys (..., 1, K) -> (1 or H, ..., R, K) float32."""


@dataclass(frozen=True)
class ByDistance:
    """A number for each distance, also for keys ahead (distances below 0)."""

    function: Callable[[Tensor], Tensor]  # distances (N,), query minus key -> (1 or H, N) float32
    of_head: Callable[[Tensor, Tensor], Tensor] | None = None  # head, distance -> the same number

    @classmethod
    def of_heads(cls, heads: int, number: Callable[[Tensor, Tensor], Tensor]) -> "ByDistance":
        """Return the numbers of all heads from a function of head and distance, which kernels may trace."""

        def function(distance: Tensor) -> Tensor:
            return number(torch.arange(heads, device=distance.device)[:, None], distance)

        return cls(function, number)

    def __call__(self, i: Tensor, j: Tensor) -> Tensor:
        """Return the number of each pair, (H, ..., R, K)."""
        shape = torch.broadcast_shapes(i.shape, j.shape)
        pair_by_pair = torch.is_grad_enabled()  # as gradients are faster
        if pair_by_pair or not (is_consecutive(i) and is_consecutive(j)):
            return self.function((i - j).flatten()).unflatten(-1, shape)
        greatest, rows, keys = int(i.max() - j.min()), shape[-2], shape[-1]
        line = self.function(torch.arange(greatest, greatest - rows - keys + 1, -1))
        return Toeplitz(line, rows - 1).matrix(rows, keys).view(-1, *shape)


def tabulate(number: ByDistance | ByPair, distances: Tensor | None) -> ByDistance | ByPair:
    """Return the numbers from a table of all distances (N,) if they depend on distances alone."""
    if not isinstance(number, ByDistance) or distances is None:
        return number
    values, first = number.function(distances), distances[:1]
    return ByDistance(lambda distance: values[:, (distance - first).clamp(0, values.size(1) - 1)])


class Toeplitz(NamedTuple):
    """A number for each pair that depends on the distance alone."""

    line: Tensor  # (1 or H, N) float32, from the greatest distance to the smallest
    start: int  # where it has that of the first query to the first key

    def matrix(self, rows: int, keys: int) -> Tensor:
        """Return the numbers of all pairs, (1 or H, R, K), without a look-up for each."""
        last = self.start - rows + 1  # of the last query, as strides of views are positive
        return self.line[:, last : last + rows + keys - 1].unfold(-1, keys, 1).flip(-2).contiguous()


def is_consecutive(at: Tensor) -> bool:
    """Return whether positions (..., R, 1) or (..., 1, K) can be read and are consecutive in one sequence."""
    if at.is_floating_point() or at.numel() != max(at.shape) or not is_inspectable(at):
        return False
    return bool((at.flatten().diff() == 1).all())


@dataclass(frozen=True)
class Window:
    """The visible keys: all less than `width` away, and the first `sinks` of the sequence."""

    width: int
    sinks: int = 0

    def __call__(self, i: Tensor, j: Tensor) -> Tensor:
        return ((i - j).abs() < self.width) | (j < self.sinks)

    def within(self, other: "Window | None") -> "Window":
        """Return the intersection of two windows: the narrower width, with the larger number of sinks."""
        return self if other is None else Window(min(self.width, other.width), max(self.sinks, other.sinks))
