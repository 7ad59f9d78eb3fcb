"""Positive features as radii at angles of their own, in float32, cast last."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from models.cpu import dense, loops, strides
from models.ops.first_order import first_order


def polar(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """softplus(x) of x (B, H, T, D) at angles whose cos and sin are (T, D), (H, T, D) or (B, H or 1, T, D)
    float32: (B, H, T, 2D), a cosine and a sine for each feature."""
    if x.is_cuda or torch.compiler.is_compiling():  # real operations are fused, complex ones are not
        radius = F.softplus(x.float())
        return torch.stack([radius * cos, radius * sin], dim=-1).flatten(-2).to(x.dtype)
    result: Tensor = Polar.apply(x, cos, sin)
    return result


class Polar(torch.autograd.Function):
    """The same with as few passes over x as possible."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        cos, sin = (a.contiguous() for a in torch.broadcast_tensors(cos, sin))
        x = dense(x)
        ctx.save_for_backward(x, cos, sin)
        by_c = loops("polar", x, cos, sin)
        if by_c is None:
            return torch.view_as_real(F.softplus(x.float()) * torch.complex(cos, sin)).flatten(-2).to(x.dtype)
        out = torch.empty(*x.shape[:-1], 2 * x.size(-1), dtype=x.dtype)
        by_c("polar", *x.shape, x, strides(x), cos, sin, strides(cos.expand(x.shape)), out)
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (x, cos, sin), learned = ctx.saved_tensors, any(ctx.needs_input_grad[1:])
        g = dense(gradients[0])
        by_c = loops("polar", x, cos, sin)
        if by_c is None:
            along, up = g.to(cos.dtype).unflatten(-1, (-1, 2)).unbind(-1)
            to_x = (x.float().sigmoid() * (along * cos + up * sin)).to(x.dtype)
            radius = F.softplus(x.float()) if learned else x
            sums = [radius * along, radius * up]
        else:
            to_x, own = torch.empty(x.shape, dtype=x.dtype), cos.dim() == x.dim()
            shape = x.shape if own else x.shape[1:]
            sums = [torch.zeros(shape if learned else 0) for _ in range(2)]
            by_c(
                "backward", *x.shape, x, strides(x), cos, sin, strides(cos.expand(x.shape)), g, strides(g),
                to_x, learned, own, *sums,
            )  # fmt: skip
        return to_x, *(tuple(a.sum_to_size(cos.shape) for a in sums) if learned else (None, None))
