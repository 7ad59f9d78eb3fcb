"""Small networks that are evaluated at every pair of tokens."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from models.cpu import Loops, dense, loops, pointers
from models.effect import ByPair, Curve
from models.ops.first_order import first_order

PAIRS = 1 << 15  # at a time: few enough for a cache, many enough that a product's start costs little
ON_A_STACK = 1 << 13  # units times heads: sums for their weights lie there, for each of 16 shares
LEAK = 0.01  # of leaky_relu
UNSEEN = -1e9  # a network needs a finite logit; what is added to the true one is still minus infinity


@dataclass(frozen=True)
class AcrossHeads:
    """Logits plus biases, plus what a network of leaky units makes of those of all heads."""

    read: nn.Linear  # logits and biases of H heads to hidden units
    write: nn.Linear
    bias: Curve | ByPair

    def __call__(self, logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        content = logits.flatten(2)  # (B, H, R K)
        bias = self.bias(i, j)
        position = bias.expand(content.size(1), *bias.shape[1:]).reshape(content.size(1), -1, content.size(2))
        position = position.transpose(0, 1).expand_as(content)
        return adapted(self.read, self.write, content, position).view_as(logits)

    def of_content(self) -> tuple[Tensor, Tensor]:
        """(hidden, H) weights of each head's logit for the units, and of the units for each head."""
        to_units = self.read.weight[:, : self.write.out_features]
        return to_units.float().contiguous(), self.write.weight.mT.float().contiguous()

    def of_distance(self, distance: Tensor) -> Tensor:
        """(hidden + H, N) what distances (N,) alone give to each unit, and to each head."""
        assert isinstance(self.bias, Curve)
        heads = self.write.out_features
        bias = self.bias.function(distance).float().expand(heads, -1)
        units = torch.addmm(self.read.bias.float()[:, None], self.read.weight[:, heads:].float(), bias)
        return torch.cat([units, bias + self.write.bias.float()[:, None]])


def adapted(read: nn.Linear, write: nn.Linear, logits: Tensor, bias: Tensor) -> Tensor:
    """(B, H, N) logits + bias + write(leaky_relu(read(logits and biases of all heads))), in float32."""
    inner = torch.cat([read.weight, read.bias[:, None]], dim=1).float()
    outer = torch.cat([write.weight, write.bias[:, None]], dim=1).float()
    sizes = {"heads": logits.size(1), "hidden": len(inner)}
    by_c = (
        loops("dape", logits, inner, outer, bias, **sizes) if len(inner) * len(outer) <= ON_A_STACK else None
    )
    if by_c is not None:
        result: Tensor = Adapted.apply(by_c, inner, outer.T.contiguous(), logits, bias)
        return result
    content, size = logits.float().clamp(min=UNSEEN), max(1, PAIRS // len(logits))
    parts = zip(content.split(size, -1), bias.split(size, -1), strict=True)
    change = bias + torch.cat([both_layers(inner, outer, *part) for part in parts], dim=-1)
    return logits + change.to(logits.dtype)


def both_layers(inner: Tensor, outer: Tensor, *given: Tensor) -> Tensor:
    """(B, out, N); `inner` and `outer` are weights with the bias as the last column."""
    x = torch.cat([*given, torch.ones_like(given[0][:, :1])], dim=1)
    hidden = leaky_relu(inner.expand(len(x), -1, -1) @ x, LEAK, inplace=True)
    return torch.baddbmm(outer[:, -1:], outer[:, :-1].expand(len(x), -1, -1), hidden)


class Adapted(torch.autograd.Function):
    """The same in one pass, which keeps no hidden units: `outer` (hidden + 1, H)."""

    @staticmethod
    def forward(ctx: Any, by_c: Loops, inner: Tensor, outer: Tensor, logits: Tensor, bias: Tensor) -> Tensor:
        logits, bias = dense(logits), dense(bias)
        out = torch.empty(logits.shape, dtype=logits.dtype)
        for x, b, y in zip(logits, bias, out, strict=True):
            by_c("forward", x.size(-1), pointers(x), pointers(b), inner, outer, LEAK, pointers(y))
        ctx.by_c = by_c
        ctx.save_for_backward(inner, outer, logits, bias)
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (inner, outer, logits, bias), g = ctx.saved_tensors, dense(gradients[0])
        to_inner, to_outer = torch.zeros_like(inner), torch.zeros_like(outer)
        to_logits, to_bias = torch.empty(logits.shape, dtype=logits.dtype), torch.empty(bias.shape)
        for x, b, y, to_x, to_b in zip(logits, bias, g, to_logits, to_bias, strict=True):
            ctx.by_c(
                "backward", x.size(-1), pointers(x), pointers(b), inner, outer, LEAK, pointers(y),
                pointers(to_x), pointers(to_b), to_inner, to_outer,
            )  # fmt: skip
        return None, to_inner, to_outer, to_logits, to_bias
