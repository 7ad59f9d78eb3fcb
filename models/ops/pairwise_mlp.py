"""Small networks at every pair of tokens: leaky units across heads, or ReLUs of one number."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from models.distance import ByDistance, ByPair
from models.ops.precision import is_inspectable, without_autocast
from models.ops.processor import budget_of

PAIRS = 1 << 15  # at a time on a CPU: few enough for a cache, many enough that a product's start costs little
LEAK = 0.01  # of leaky_relu
UNSEEN = -1e9  # a network needs a finite logit; what is added to the true one is still minus infinity


@dataclass(frozen=True)
class AcrossHeads:
    """Logits plus biases, plus the output of a network of leaky units that reads those of all heads."""

    read: nn.Linear  # logits and biases of H heads to hidden units
    write: nn.Linear
    bias: ByDistance | ByPair

    def __call__(self, logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        content = logits.flatten(2)  # (B, H, R K)
        bias = self.bias(i, j)
        position = bias.expand(content.size(1), *bias.shape[1:]).reshape(content.size(1), -1, content.size(2))
        position = position.transpose(0, 1).expand_as(content)
        return adapt_logits(self.read, self.write, content, position).view_as(logits)


def adapt_logits(read: nn.Linear, write: nn.Linear, logits: Tensor, bias: Tensor) -> Tensor:
    """Return logits + bias + write(leaky_relu(read(logits and bias of all heads))) in float32, (B, H, N)."""
    inner = torch.cat([read.weight, read.bias[:, None]], dim=1).float()
    outer = torch.cat([write.weight, write.bias[:, None]], dim=1).float()
    units, content = outer.size(1), logits.float().clamp(min=UNSEEN)
    size = max(1, budget_of(logits, PAIRS * units) // (units * len(logits)))
    parts = zip(content.split(size, -1), bias.split(size, -1), strict=True)
    change = bias + torch.cat([both_layers(inner, outer, *part) for part in parts], dim=-1)
    return logits + change.to(logits.dtype)


def both_layers(inner: Tensor, outer: Tensor, *given: Tensor) -> Tensor:
    """Return the output of both layers, (B, out, N): the last column of `inner` and `outer` is the bias."""
    x = torch.cat([*given, torch.ones_like(given[0][:, :1])], dim=1)
    hidden = leaky_relu(inner.expand(len(x), -1, -1) @ x, LEAK, inplace=True)
    return torch.baddbmm(outer[:, -1:], outer[:, :-1].expand(len(x), -1, -1), hidden)


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
