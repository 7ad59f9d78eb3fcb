"""Softmax attention with a mask that is added, forward and backward, with few passes over the logits.

Autograd would keep the logits before and after the mask, and pad the gradient of every block with
zeros. Here only the weights are kept, in the precision of v.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from models.in_place import InPlace, Lines
from models.native import WIDE, Loops, loops

Block = tuple[slice, slice]  # some queries, and the keys that they may see


class Products(NamedTuple):
    """Which products of queries and keys are taken, and their scale."""

    blocks: list[Block]
    scale: float = 1.0


class Weighted(torch.autograd.Function):
    """softmax(scale q k^T + mask) v, block by block; the mask broadcasts to (B, H, T, T)."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, products: Products) -> Tensor:
        blocks, scale = products
        ctx.scale, ctx.in_place = scale, [in_place(q, k, v, mask[..., r, c], scale) for r, c in blocks]
        weights = [
            weigh(q[:, :, r], k[:, :, c], mask[..., r, c], v.dtype, scale)
            if by_c is None
            else by_c.forward(q[:, :, r] @ k[:, :, c].mT)
            for (r, c), by_c in zip(blocks, ctx.in_place, strict=True)
        ]
        ctx.save_for_backward(q, k, v, mask, *weights)
        ctx.blocks = blocks
        return together([p @ v[:, :, c] for p, (_, c) in zip(weights, blocks, strict=True)])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, mask, *weights = ctx.saved_tensors
        out, wanted = gradients[0].contiguous(), ctx.needs_input_grad[3]
        if len(weights) == 1:
            logits = of_logits(out @ v.mT, weights[0], ctx.in_place[0], ctx.scale)
            to_mask = logits.sum_to_size(mask.shape) / ctx.scale if wanted else None
            return *through(out, q, k, weights[0], logits), to_mask, None
        to_q, to_k, to_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        to_mask = torch.zeros_like(mask) if wanted else None
        for p, (r, c), by_c in zip(weights, ctx.blocks, ctx.in_place, strict=True):
            logits = of_logits(out[:, :, r] @ v[:, :, c].mT, p, by_c, ctx.scale)
            a, b, d = through(out[:, :, r], q[:, :, r], k[:, :, c], p, logits)
            to_q[:, :, r] += a
            to_k[:, :, c] += b
            to_v[:, :, c] += d
            if to_mask is not None:
                to_mask[..., r, c] += logits.sum_to_size(mask[..., r, c].shape) / ctx.scale
        return to_q, to_k, to_v, to_mask, None


def weigh(q: Tensor, k: Tensor, mask: Tensor, dtype: torch.dtype, scale: float = 1.0) -> Tensor:
    """(B, H, R, K) the weight of each key for each query; the product is accumulated into the mask."""
    logits = torch.empty(*q.shape[:-1], k.size(-2), dtype=q.dtype, device=q.device).copy_(mask)
    logits.flatten(0, 1).baddbmm_(q.flatten(0, 1), k.flatten(0, 1).mT, alpha=scale)
    return logits.softmax(-1).to(dtype)


def of_logits(gradient: Tensor, p: Tensor, by_c: InPlace | None, scale: float) -> Tensor:
    """The gradient of the product from that of their weights p, whose place it may take."""
    if by_c is not None:
        return by_c.backward(p, gradient)
    logits = torch._softmax_backward_data(gradient, p, -1, p.dtype)
    return logits if scale == 1 else logits.mul_(scale)


def through(out: Tensor, q: Tensor, k: Tensor, p: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of q, k and v from those of the output and the logits."""
    logits = logits.to(k.dtype)
    return logits @ k, logits.mT @ q, p.mT @ out


def in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> InPlace | None:
    """None where PyTorch takes the softmax: if there are no loops in C, or precisions differ."""
    by_c = fitting(q, k, v)
    if by_c is None or mask.dtype is not WIDE:
        return None
    count = torch.arange(1, mask.size(-1) + 1)
    ends = torch.where(mask > -torch.inf, count, 0).amax(-1)  # (..., 1 or H, R)
    if mask.dim() == 4:
        ends = ends.expand(-1, q.size(1), -1).contiguous()
    return InPlace(by_c, ends, scale, mask=Lines.of(mask))


def fitting(q: Tensor, k: Tensor, v: Tensor) -> Loops | None:
    """The loops in C for their logits, if there are any."""
    return loops("softmax", v) if q.dtype == k.dtype == v.dtype else None


def together(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-2)


def beside_sink(out: Tensor, total: Tensor, sink: Tensor) -> Tensor:
    """out (B, H, R, D) once a sink of logit (H, R or 1) has taken its share of the weights; `total` (B, H, R)
    is the logarithm of the sum of the others."""
    return (out * (total - sink).sigmoid()[..., None]).to(out.dtype)
