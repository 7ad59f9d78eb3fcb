"""RMSNorm with few passes over x on a CPU, where PyTorch makes many."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from models.cpu import loops
from models.ops.first_order import first_order
from models.ops.precision import is_autocast_on

SHARES = 16  # of the rows, as norm.c divides them among threads


def rms_norm(x: Tensor, gain: Tensor, epsilon: float = 1e-6) -> Tensor:
    """Return gain * x / sqrt(mean x^2 + epsilon) over the last dimension, as precise as products."""
    if x.is_cuda:
        return F.rms_norm(x, x.shape[-1:], gain, epsilon)
    dtype = torch.get_autocast_dtype(x.device.type) if is_autocast_on(x.device) else x.dtype
    result: Tensor = RMSNorm.apply(x, gain, epsilon, dtype)
    return result


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, epsilon: float, dtype: torch.dtype) -> Tensor:
        ctx.loops = loops("norm", dtype, x, gain)
        if ctx.loops is not None:
            x, gain = x.contiguous(), gain.contiguous()
            scale, y = x.new_empty(*x.shape[:-1], 1), torch.empty_like(x, dtype=dtype)
            ctx.loops("forward", scale.numel(), x.size(-1), x, gain, float(epsilon), scale, y)
            ctx.save_for_backward(x, scale, gain)
            return y
        norm = torch.linalg.vector_norm(
            x, dim=-1, keepdim=True, dtype=torch.promote_types(x.dtype, torch.float32)
        )
        scale = (norm.square() / x.size(-1) + epsilon).rsqrt()
        ctx.save_for_backward(x, scale, gain)
        return (x * scale).mul_(gain).to(dtype)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Use LayerNorm's backward if there is no C: it is fused. A mean of 0 goes in, and the mean that it
        subtracts is added again."""
        x, scale, gain = ctx.saved_tensors
        if ctx.loops is not None:
            to_x, to_gain = torch.empty_like(x), torch.zeros_like(gain)
            g = gradients[0].resolve_neg().contiguous()
            sums = x.new_zeros(SHARES, x.size(-1))
            ctx.loops("backward", scale.numel(), x.size(-1), x, gain, scale, g, to_x, to_gain, sums)
            return to_x, to_gain, None, None
        (g, wide, weight), shape = (t.to(scale.dtype) for t in (*gradients, x, gain)), x.shape[-1:]
        mean = (g @ weight[:, None]).mul_(scale) / x.size(-1)
        layer_norm = torch.ops.aten.native_layer_norm_backward
        to_x, to_gain, _ = layer_norm(
            g, wide, shape, torch.zeros_like(scale), scale, weight, None, [True, True, False]
        )
        return to_x.add_(mean).to(x.dtype), to_gain.to(gain.dtype), None, None
