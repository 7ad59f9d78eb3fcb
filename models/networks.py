"""Small networks that are evaluated at every pair of tokens."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from models.linear import leaky_product, product
from models.precision import inspectable, without_autocast

PAIRS = 1 << 15  # at a time: few enough for a cache, many enough that a product's start costs little
STEP = 1 << 10  # pairs; their number is a multiple


def relu_network(read: nn.Linear, write: nn.Linear) -> Callable[[Tensor], Tensor]:
    """`write(relu(read(x)))` in float32 of numbers x (...): (features, ...)."""
    lines = torch.cat([read.weight, read.bias[:, None]], dim=1).float()  # (hidden, 2) slope and start
    weights, level = write.weight.float(), write.bias.float()[:, None]
    if inspectable(lines):
        return PiecewiseLinear(lines, weights, level)

    def network(x: Tensor) -> Tensor:
        given = torch.stack([x, torch.ones_like(x)]).flatten(1)  # (2, N)
        return torch.addmm(level, weights, (lines @ given).relu_()).unflatten(-1, x.shape)

    return network


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


def both_layers(inner: Tensor, outer: Tensor, level: Tensor, *given: Tensor) -> Tensor:
    """(B, out, N); `inner` and `outer` are weights, `inner` with the bias as its last column."""
    x = torch.cat([*given, torch.ones_like(given[0][:, :1])], dim=1)
    hidden = leaky_relu(inner.expand(len(x), -1, -1) @ x, inplace=True)
    return torch.baddbmm(level, outer.expand(len(x), -1, -1), hidden)


def leaky_network(read: nn.Linear, write: nn.Linear, *given: Tensor) -> Tensor:
    """(B, out, N) `write(leaky_relu(read(x)))` in float32 of x, `given` in parts (B, features, N) of it."""
    inner = torch.cat([read.weight, read.bias[:, None]], dim=1).float()
    outer, level = write.weight.float(), write.bias.float()[:, None]
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        parts = zip(*(part.split(max(1, PAIRS // len(part)), -1) for part in given), strict=True)
        return torch.cat([both_layers(inner, outer, level, *part) for part in parts], dim=-1)
    sequences, _, count = given[0].shape
    out = given[0].new_empty(sequences, len(outer), count)
    size = -(-count // -(-count // PAIRS))  # equal parts
    size += -size % STEP  # of few sizes, as products are compiled for each
    x = out.new_ones(inner.size(1), size)
    for sequence in range(sequences):
        for start in range(0, count, size):
            some = slice(start, min(start + size, count))
            now = slice(0, some.stop - start)
            torch.cat([part[sequence, :, some] for part in given], out=x[:-1, now])
            out[sequence, :, some] = product(outer, leaky_product(inner, x))[:, now]
    return out.add_(level)
