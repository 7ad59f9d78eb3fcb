"""Positive features as lengths in directions of their own, in float32, cast last."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable


def polar(x: Tensor, angle: Tensor) -> Tensor:
    """softplus(x) of x (B, H, T, D) in the directions `angle` (T, D) or (H, T, D): (B, H, T, 2D)."""
    result: Tensor = Polar.apply(x, angle)
    return result


class Polar(torch.autograd.Function):
    """Autograd would keep seven tables in float32; this keeps x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, angle: Tensor) -> Tensor:
        ctx.save_for_backward(x, angle)
        length = F.softplus(x.float())
        return torch.cat([(length * angle.cos()).to(x.dtype), (length * angle.sin()).to(x.dtype)], dim=-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None]:
        x, angle = ctx.saved_tensors
        along, across = gradients[0].float().chunk(2, dim=-1)
        cos, sin, wide = angle.cos(), angle.sin(), x.float()
        to_length = torch.addcmul(along * cos, across, sin)
        to_angle = None
        if ctx.needs_input_grad[1]:
            turned = torch.addcmul(across * cos, along, sin, value=-1)
            to_angle = turned.mul_(F.softplus(wide)).sum_to_size(angle.shape)
        return to_length.mul_(wide.sigmoid()).to(x.dtype), to_angle
