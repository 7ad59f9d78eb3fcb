"""A small network of ReLUs that reads one number, at many numbers: a line that bends once for each unit."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.ops.precision import is_inspectable, without_autocast


def relu_network(read: nn.Linear, write: nn.Linear) -> Callable[[Tensor], Tensor]:
    """Return a function of numbers x (...): `write(relu(read(x)))` in float32, (features, ...)."""
    lines = torch.cat([read.weight, read.bias[:, None]], dim=1).float()  # (hidden, 2) slope and start
    weights, level = write.weight.float(), write.bias.float()[:, None]
    if is_inspectable(lines):
        return PiecewiseLinear(lines, weights, level)

    def network(x: Tensor) -> Tensor:
        given = torch.stack([x, torch.ones_like(x)]).flatten(1)  # (2, N)
        return torch.addmm(level, weights, (lines @ given).relu_()).unflatten(-1, x.shape)

    return network


class PiecewiseLinear:
    """A network of ReLUs of one number: a line that bends once for each unit.

    `lines` (hidden, 2): slope and start of each unit; `weights` (features, hidden); `level` (features, 1).
    """

    def __init__(self, lines: Tensor, weights: Tensor, level: Tensor) -> None:
        (slope, start), weights = lines.double().unbind(1), weights.double()
        at, order = (-start / slope).nan_to_num(torch.inf).sort()
        slope, start, weights = slope[order], start[order], weights[:, order]
        self.at: list[float] = at.tolist()  # where it bends
        self.bends = (slope.abs() * weights).float()  # (features, hidden) by how much
        falls, flat = slope < 0, slope == 0
        still, falling = weights[:, flat] @ start[flat].relu(), weights[:, falls] @ start[falls]
        # before any bend: level and slope
        first = torch.stack([level[:, 0] + still + falling, weights[:, falls] @ slope[falls]], dim=-1)
        bend = torch.stack([-at.nan_to_num(posinf=0.0), torch.ones_like(at)], dim=-1)
        steps = (slope.abs() * weights)[..., None] * bend
        # (features, hidden + 1, 2)
        self.lines = (first[:, None] + F.pad(steps.cumsum(1), (0, 0, 1, 0))).float()

    def __call__(self, x: Tensor) -> Tensor:
        """Return (features, ...) for x (...), from units that bend between its lowest and highest value."""
        lowest, highest = (float(end) for end in x.aminmax())
        start, stop = bisect_right(self.at, lowest), bisect_left(self.at, highest)
        given = x.new_empty(2 + stop - start, x.numel())
        given[0], given[1] = 1.0, x.flatten()
        for unit, at in zip(given[2:], self.at[start:stop], strict=True):
            torch.sub(given[1], at, out=unit).relu_()
        weights = torch.cat([self.lines[:, start], self.bends[:, start:stop]], dim=1)
        with without_autocast(x.device):
            return (weights @ given).unflatten(-1, x.shape)
