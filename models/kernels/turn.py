"""Turning pairs of features with as few passes as can be, in float32, cast last."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x (B, H, T, D), features f and f + D/2 turned by the angles of cos and sin (T, D/2) float32."""
    cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)
    if cos.requires_grad:  # learned angles
        return apply(x, cos, sin)
    result: Tensor = Turn.apply(x, cos, sin)
    return result


def apply(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    swapped = x.roll(x.size(-1) // 2, -1)
    return torch.addcmul(x.to(cos.dtype) * cos, swapped.to(cos.dtype), sin).to(x.dtype)


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return apply(x, cos, sin)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return apply(gradients[0], cos, -sin), None, None
