"""Rotation of pairs of features, in float32, cast last."""

from typing import Any

import torch
from torch import Tensor

from models.cpu import dense, loops, strides
from models.ops.first_order import first_order


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor, layout: str = "interleaved") -> Tensor:
    """x (B, H, T, D) with its first 2F features rotated by the angles of cos and sin (T, F), (B, 1, T, F) or
    (B, H, T, F) float32. `layout`: feature f pairs up with f + F (`half`), or 2f with 2f + 1 (`interleaved`).
    """
    width = 2 * cos.size(-1)
    if x.size(-1) > width:
        return torch.cat([rotate_pairs(x[..., :width], cos, sin, layout), x[..., width:]], dim=-1)
    by_pytorch = x.dim() != 4 or loops("rotation", x, cos, sin) is None
    learned = by_pytorch and (cos.requires_grad or sin.requires_grad)
    if learned or x.is_cuda or torch.compiler.is_compiling():
        return composed(x, cos, sin, layout)
    result: Tensor = RotatePairs.apply(x, cos, sin, layout)
    return result


def composed(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate in plain operations, for compilers to fuse and for gradients of the angles."""
    wide = x.to(cos.dtype)
    if layout == "half":
        a, b = wide.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)
    a, b = wide.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)


class RotatePairs(torch.autograd.Function):
    """The same with as few passes over x as possible; the gradient is rotated back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
        ctx.save_for_backward(x if cos.requires_grad or sin.requires_grad else None, cos, sin)
        ctx.layout = layout
        return rotated(x, cos, sin, layout, 1.0)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (x, cos, sin), g = ctx.saved_tensors, gradients[0]
        angles = (None, None) if x is None else to_angles(x, g, cos, sin, ctx.layout)
        return rotated(g, cos, sin, ctx.layout, -1.0), *angles, None


def rotated(x: Tensor, cos: Tensor, sin: Tensor, layout: str, sign: float) -> Tensor:
    """Rotate x in one pass where that can be compiled; `sign` -1 rotates back."""
    by_c = loops("rotation", x, cos, sin)
    if by_c is None or x.stride(-1) != 1 or x.dim() != 4:
        return PASSES[layout](x, cos, sign * sin)
    cos, sin = (a.contiguous() for a in torch.broadcast_tensors(cos, sin))
    out = torch.empty(x.shape, dtype=x.dtype)
    sizes = *x.shape, cos.size(-1), int(layout == "half")
    of_angles = strides(cos.expand(*x.shape[:-1], -1))
    by_c("rotate", *sizes, x, strides(x), cos, sin, of_angles, sign, out)
    return out


def to_angles(x: Tensor, g: Tensor, cos: Tensor, sin: Tensor, layout: str) -> tuple[Tensor, ...]:
    """The gradients of cosines and sines, by loops in C, of x and that of the rotated x."""
    by_c, x, g = loops("rotation", x, cos), dense(x), dense(g)
    assert by_c is not None
    gradients = [torch.empty(*x.shape[:-1], cos.size(-1)) for _ in range(2)]
    sizes = *x.shape[:-1], cos.size(-1), int(layout == "half")
    by_c("to_angles", *sizes, x, strides(x), g, strides(g), *gradients)
    return tuple(a.sum_to_size(own.shape) for a, own in zip(gradients, (cos, sin), strict=True))


def half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)
    swapped = x.roll(x.size(-1) // 2, -1)
    return torch.addcmul(x.to(cos.dtype) * cos, swapped.to(cos.dtype), sin).to(x.dtype)


def interleaved(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Each pair is a complex number: three passes, half as long as those of `half`."""
    wide = x.to(cos.dtype, copy=True, memory_format=torch.contiguous_format)
    torch.view_as_complex(wide.unflatten(-1, (-1, 2))).mul_(torch.complex(cos, sin))
    return wide.to(x.dtype)


PASSES = {"half": half, "interleaved": interleaved}
