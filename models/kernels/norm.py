"""RMSNorm without a gain, on a CPU, where PyTorch takes it apart into many passes over x."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from models.precision import autocasts


def normalised(x: Tensor, epsilon: float = 1e-6) -> Tensor:
    """x / sqrt(mean x^2 + epsilon) over the last dimension, in the precision that matrix products take."""
    if x.is_cuda:
        return F.rms_norm(x, x.shape[-1:], eps=epsilon)
    dtype = torch.get_autocast_dtype(x.device.type) if autocasts(x.device) else x.dtype
    result: Tensor = Normalised.apply(x, epsilon, dtype)
    return result


class Normalised(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, epsilon: float, dtype: torch.dtype) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        scale = (norm.square() / x.size(-1) + epsilon).rsqrt()
        y = (x * scale).to(dtype)
        ctx.save_for_backward(y, scale)
        ctx.dtype = x.dtype
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (g,), (y, scale) = gradients, ctx.saved_tensors
        along = torch.linalg.vecdot(g, y).unsqueeze(-1) / y.size(-1)  # what only lengthens x changes nothing
        return torch.addcmul(g, y, along, value=-1).float().mul_(scale).to(ctx.dtype), None, None
