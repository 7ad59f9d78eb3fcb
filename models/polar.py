"""Positive features as radii at angles of their own, in float32, cast last."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable


def polar(x: Tensor, angle: Tensor) -> Tensor:
    """softplus(x) of x (B, H, T, D) at angles (T, D) or (H, T, D): (B, H, T, 2D), a cosine and a sine for
    each feature."""
    if (
        x.is_cuda or torch.compiler.is_compiling()
    ):  # where real operations are fused, and complex ones are not
        length = F.softplus(x.float())
        return torch.stack([length * angle.cos(), length * angle.sin()], dim=-1).flatten(-2).to(x.dtype)
    result: Tensor = Polar.apply(x, angle)
    return result


class Polar(torch.autograd.Function):
    """The same in complex numbers, with as few passes over x as possible."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, angle: Tensor) -> Tensor:
        length = F.softplus(x.float())
        ctx.save_for_backward(x, length, angle)
        return torch.view_as_real(length * direction(angle)).flatten(-2).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None]:
        x, length, angle = ctx.saved_tensors
        wide = gradients[0].to(length.dtype, copy=True, memory_format=torch.contiguous_format)
        rotated_back = torch.view_as_complex(wide.unflatten(-1, (-1, 2))).mul_(direction(-angle))
        to_angle = None
        if ctx.needs_input_grad[1]:
            to_angle = (rotated_back.imag * length).sum_to_size(angle.shape)
        return x.float().sigmoid().mul_(rotated_back.real).to(x.dtype), to_angle


def direction(angle: Tensor) -> Tensor:
    return torch.complex(angle.cos(), angle.sin())
