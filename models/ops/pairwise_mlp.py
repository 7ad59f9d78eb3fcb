"""A small network at every pair of tokens: leaky units that read the logits of all heads."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from models.distance import ByDistance, ByPair
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
