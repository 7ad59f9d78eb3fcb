"""Small networks that are evaluated at every pair of tokens."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from models.precision import inspectable, without_autocast

PAIRS = 1 << 15  # at a time, so that the hidden layer, many times wider, stays in the processor's cache


def relu_network(read: nn.Linear, write: nn.Linear, highest: Tensor) -> Callable[[Tensor], Tensor]:
    """`write(relu(read(x)))` in float32 of numbers x (...) from 0 to `highest`: (features, ...).

    Without gradients, units that do not bend within this range, which are most, are merged into the one
    line that they add up to.
    """
    lines = torch.cat([read.weight, read.bias[:, None]], dim=1).float()  # (hidden, 2) slope and start
    weights, level = write.weight.float(), write.bias.float()[:, None]
    if inspectable(lines):
        with without_autocast(lines.device):
            range_ = torch.stack([torch.stack([torch.zeros_like(highest), highest]), torch.ones(2)])
            ends = lines @ range_  # (hidden, 2)
            on, bends = (ends >= 0).all(1), (ends > 0).any(1) & (ends < 0).any(1)
            line, ones = weights[:, on] @ lines[on], torch.tensor([[1.0, 0.0]])  # x itself is never negative
        lines, weights = torch.cat([ones, lines[bends]]), torch.cat([line[:, :1], weights[:, bends]], 1)
        level = level + line[:, 1:]

    def network(x: Tensor) -> Tensor:
        given = torch.stack([x, torch.ones_like(x)]).flatten(1)  # (2, N)
        return torch.addmm(level, weights, (lines @ given).relu_()).unflatten(-1, x.shape)

    return network


def in_blocks(network: Callable[..., Tensor], *x: Tensor) -> Tensor:
    """`network` of x, each (B, features, N), some pairs at a time."""
    count = max(1, PAIRS // x[0].size(0))
    parts = zip(*(one.split(count, -1) for one in x), strict=True)
    return torch.cat([network(*part) for part in parts], dim=-1)
