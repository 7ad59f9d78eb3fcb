"""A small network of ReLUs that reads one number, evaluated at every pair of tokens."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.cpu import WIDE, Loops, loops
from models.ops.first_order import first_order
from models.ops.precision import inspectable, without_autocast


def relu_network(read: nn.Linear, write: nn.Linear) -> Callable[[Tensor], Tensor]:
    """`write(relu(read(x)))` in float32 of numbers x (...): (features, ...)."""
    lines = torch.cat([read.weight, read.bias[:, None]], dim=1).float()  # (hidden, 2) slope and start
    weights, level = write.weight.float(), write.bias.float()[:, None]
    if inspectable(lines):
        return PiecewiseLinear(lines, weights, level)
    features, units = weights.shape

    def network(x: Tensor) -> Tensor:
        by_c = loops("relu", WIDE, x, lines, weights, level, features=features, units=units)
        if by_c is not None:
            result: Tensor = ReLUNetwork.apply(by_c, x.flatten(), lines, weights, level)
            return result.unflatten(-1, x.shape)
        given = torch.stack([x, torch.ones_like(x)]).flatten(1)  # (2, N)
        return torch.addmm(level, weights, (lines @ given).relu_()).unflatten(-1, x.shape)

    return network


class ReLUNetwork(torch.autograd.Function):
    """The same in one pass, which keeps no hidden units."""

    @staticmethod
    def forward(ctx: Any, by_c: Loops, x: Tensor, lines: Tensor, weights: Tensor, level: Tensor) -> Tensor:
        x, lines, weights = x.contiguous(), lines.contiguous(), weights.contiguous()
        ctx.by_c, out = by_c, x.new_empty(len(weights), x.numel())
        by_c("forward", x.numel(), x, lines, weights, level.contiguous(), out)
        ctx.save_for_backward(x, lines, weights)
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (x, lines, weights), g = ctx.saved_tensors, gradients[0].contiguous()
        to_x, to = torch.empty_like(x), x.new_zeros(len(lines), 2 + len(weights))
        ctx.by_c("backward", x.numel(), x, lines, weights, g, to_x, to)
        return None, to_x, to[:, :2], to[:, 2:].mT, g.sum(1, keepdim=True)


class PiecewiseLinear:
    """What a network of ReLUs makes of one number: a line that bends once for each unit.

    `lines` (hidden, 2): slope and start of each unit; `weights` (features, hidden); `level` (features, 1).
    """

    def __init__(self, lines: Tensor, weights: Tensor, level: Tensor) -> None:
        (slope, start), weights = lines.double().unbind(1), weights.double()
        at, order = (-start / slope).nan_to_num(torch.inf).sort()
        slope, start, weights = slope[order], start[order], weights[:, order]
        self.at: list[float] = at.tolist()  # where it bends
        self.bends = (slope.abs() * weights).float()  # (features, hidden) by how much
        falls, flat = slope < 0, slope == 0
        first = torch.stack(
            [
                level[:, 0] + weights[:, flat] @ start[flat].relu() + weights[:, falls] @ start[falls],
                weights[:, falls] @ slope[falls],
            ],
            dim=-1,
        )  # before any bend: level and slope
        steps = (slope.abs() * weights)[..., None] * torch.stack(
            [-at.nan_to_num(posinf=0.0), torch.ones_like(at)], dim=-1
        )
        self.lines = (
            first[:, None] + F.pad(steps.cumsum(1), (0, 0, 1, 0))
        ).float()  # (features, hidden + 1, 2)

    def __call__(self, x: Tensor) -> Tensor:
        """(features, ...) of x (...), computing only units that bend between the lowest x and the highest."""
        lowest, highest = (float(end) for end in x.aminmax())
        start, stop = bisect_right(self.at, lowest), bisect_left(self.at, highest)
        given = x.new_empty(2 + stop - start, x.numel())
        given[0], given[1] = 1.0, x.flatten()
        for unit, at in zip(given[2:], self.at[start:stop], strict=True):
            torch.sub(given[1], at, out=unit).relu_()
        weights = torch.cat([self.lines[:, start], self.bends[:, start:stop]], dim=1)
        with without_autocast(x.device):
            return (weights @ given).unflatten(-1, x.shape)


@dataclass(frozen=True)
class Surface:
    """A number for each pair of positions that needs no memory besides its own, however many there are."""

    function: Callable[[Tensor, Tensor], Tensor]

    def __call__(self, i: Tensor, j: Tensor) -> Tensor:
        """(H, ..., R, K)"""
        return self.function(i, j)


def at_once(network: Callable[[Tensor], Tensor], c: Tensor) -> Callable[..., Tensor] | None:
    """(i, j, own) -> (features, R, K) `network` of log(1 + |c (i - j)|) / own for queries i and own (R, 1),
    and keys j (1, K), without gradient and in one pass; None where that cannot be compiled."""
    learning = torch.is_grad_enabled() and c.requires_grad
    if learning or not isinstance(network, PiecewiseLinear):
        return None
    features, units = network.bends.shape
    by_c = loops("fire", network.bends, heads=features, units=units)
    if by_c is None:
        return None
    at = torch.tensor(network.at, dtype=network.bends.dtype)

    def numbers(i: Tensor, j: Tensor, own: Tensor) -> Tensor:
        out, sizes = own.new_empty(features, i.numel(), j.numel()), (i.numel(), j.numel())
        i, own, j = (x.float().contiguous() for x in (i, own, j))
        by_c("bias", *sizes, i, own, j, float(c), at, network.bends, network.lines, out)
        return out

    return numbers
