"""Toeplitz matrices: at consecutive positions, numbers by distance have one value for each diagonal."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from models.ops.precision import is_inspectable


class Toeplitz(NamedTuple):
    """A number for each pair that depends on the distance alone."""

    line: Tensor  # (1 or H, N) float32, from the greatest distance to the smallest
    start: int  # where it has that of the first query to the first key

    def matrix(self, rows: int, keys: int) -> Tensor:
        """Return the numbers of all pairs, (1 or H, R, K), without a look-up for each."""
        last = self.start - rows + 1  # of the last query, as strides of views are positive
        return self.line[:, last : last + rows + keys - 1].unfold(-1, keys, 1).flip(-2).contiguous()


def by_distance(values: Callable[[Tensor], Tensor], i: Tensor, j: Tensor) -> Tensor:
    """Return the `values` (N,) -> (H, N) at the distances of i (..., R, 1) and j (..., 1, K)."""
    shape = torch.broadcast_shapes(i.shape, j.shape)
    pair_by_pair = torch.is_grad_enabled()  # as gradients are faster
    if pair_by_pair or not (is_consecutive(i) and is_consecutive(j)):
        return values((i - j).flatten()).unflatten(-1, shape)
    greatest, rows, keys = int(i.max() - j.min()), shape[-2], shape[-1]
    line = values(torch.arange(greatest, greatest - rows - keys + 1, -1))
    return Toeplitz(line, rows - 1).matrix(rows, keys).view(-1, *shape)


def is_consecutive(at: Tensor) -> bool:
    """Return whether positions (..., R, 1) or (..., 1, K) can be read and are consecutive in one sequence."""
    if at.is_floating_point() or at.numel() != max(at.shape) or not is_inspectable(at):
        return False
    return bool((at.flatten().diff() == 1).all())
