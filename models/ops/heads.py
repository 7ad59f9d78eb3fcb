"""Splitting a projection into queries, keys and values by head, with one copy forward and one back."""

from typing import Any

import torch
from torch import Tensor

from models.ops.first_order import first_order


def split(qkv: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """(B, T, 3C) -> q, k, v, each (B, H, T, D)"""
    if qkv.is_cuda:  # fused kernels read them where they are
        return qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4).unbind()
    apart: tuple[Tensor, Tensor, Tensor] = Split.apply(qkv, heads)
    return apart


class Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, heads: int) -> tuple[Tensor, ...]:
        return tuple(x.contiguous() for x in qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4))

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.stack([g.transpose(1, 2) for g in gradients], dim=2).flatten(2), None  # (B, T, 3, H, D)
