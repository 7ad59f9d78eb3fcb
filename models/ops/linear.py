"""Linear layers: their initial scale, their heads, and the faster library on this processor.

PyTorch multiplies float32 by MKL, which leaves half of AVX-512 unused on processors of other makers than
Intel. oneDNN, which multiplies bfloat16, can multiply float32 as well.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.ops.first_order import first_order
from models.ops.precision import is_autocast_on
from models.ops.processor import is_mkl_slow

WIDE = torch.float32


class Linear(nn.Linear):
    """A linear layer without bias."""

    def __init__(self, inner: int, out: int) -> None:
        super().__init__(inner, out, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        if not is_by_onednn(x, self.weight):
            return F.linear(x, self.weight)
        result: Tensor = OneDNN.apply(x, self.weight)
        return result


class OneDNN(torch.autograd.Function):
    """x (..., C) and weight (out, C) -> (..., out)"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return onednn(x, weight)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None]:
        (x, weight), g = ctx.saved_tensors, gradients[0]
        is_frozen = not ctx.needs_input_grad[1]
        return onednn(g, weight.T), None if is_frozen else over_rows(g.flatten(0, -2), x.flatten(0, -2))


def over_rows(a: Tensor, b: Tensor) -> Tensor:
    """Return a.T @ b (M, N) of a (K, M) and b (K, N), which have many rows.

    oneDNN copies a transposed left factor: here, the narrower one.
    """
    return onednn(a.T, b.T) if a.size(1) <= b.size(1) else onednn(b.T, a.T).T


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b (M, N) of a (M, K) and b (K, N), without gradient."""
    return onednn(a, b.T) if is_by_onednn(a, b) else a @ b


def is_by_onednn(a: Tensor, b: Tensor) -> bool:
    """Return whether both are float32 on a processor where PyTorch's choice is slow."""
    if not (a.is_cpu and a.dtype == b.dtype == WIDE) or torch.compiler.is_compiling():
        return False
    return not is_autocast_on(a.device) and is_mkl_slow()


def onednn(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b.T (..., N) of a (..., K) and b (N, K)."""
    result: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, None, "none", [], "")
    return result


def init_std(width: int) -> float:
    """Return the standard deviation of initial weights: 0.55 / sqrt(width), GPT-2's 0.02 at width 768."""
    return 0.02 * (768 / width) ** 0.5


def split_heads(qkv: Tensor, heads: int, kv_heads: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return q (B, H, T, D), k and v (B, G, T, D) of a projection (B, T, (H + 2G) D)."""
    sizes = heads, kv_heads or heads, kv_heads or heads
    if qkv.is_cuda:  # fused kernels read them where they are
        q, k, v = qkv.unflatten(-1, (sum(sizes), -1)).transpose(1, 2).split(sizes, 1)
        return q, k, v
    apart: tuple[Tensor, Tensor, Tensor] = Split.apply(qkv, sizes)
    return apart


class Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, sizes: tuple[int, ...]) -> tuple[Tensor, ...]:
        heads = qkv.unflatten(-1, (sum(sizes), -1)).transpose(1, 2)
        return tuple(x.contiguous() for x in heads.split(sizes, 1))

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.cat([g.transpose(1, 2) for g in gradients], dim=2).flatten(2), None
