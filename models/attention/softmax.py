"""Softmax attention with a mask that is added, forward and backward, with few passes over the logits.

Autograd would keep the logits before and after the mask, and pad the gradient of every block with
zeros. Here only the weights are kept, in the precision of v.
"""

from typing import Any

import torch
from torch import Tensor

from models.cpu import loops
from models.ops.first_order import first_order

Block = tuple[slice, slice]  # some queries, and the keys that they may see


class Weighted(torch.autograd.Function):
    """softmax(q k^T + mask) v, block by block; the mask broadcasts to (B, H, T, T)."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, blocks: list[Block]) -> Tensor:
        weights = [weigh(q[:, :, r], k[:, :, c], mask[..., r, c], v.dtype) for r, c in blocks]
        ctx.save_for_backward(q, k, v, mask, *weights)
        ctx.blocks = blocks
        return together([p @ v[:, :, c] for p, (_, c) in zip(weights, blocks, strict=True)])

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, mask, *weights = ctx.saved_tensors
        out, wanted = gradients[0].contiguous(), ctx.needs_input_grad[3]
        if len(weights) == 1:
            logits = torch._softmax_backward_data(out @ v.mT, weights[0], -1, v.dtype)
            to_mask = logits.sum_to_size(mask.shape) if wanted else None
            return *through(out, q, k, weights[0], logits), to_mask, None
        to_q, to_k, to_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        to_mask = torch.zeros_like(mask) if wanted else None
        for p, (r, c) in zip(weights, ctx.blocks, strict=True):
            logits = torch._softmax_backward_data(out[:, :, r] @ v[:, :, c].mT, p, -1, p.dtype)
            a, b, d = through(out[:, :, r], q[:, :, r], k[:, :, c], p, logits)
            to_q[:, :, r] += a
            to_k[:, :, c] += b
            to_v[:, :, c] += d
            if to_mask is not None:
                to_mask[..., r, c] += logits.sum_to_size(mask[..., r, c].shape)
        return to_q, to_k, to_v, to_mask, None


def weigh(q: Tensor, k: Tensor, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """(B, H, R, K) the weight of each key for each query; the product is accumulated into the mask."""
    logits = torch.empty(*q.shape[:-1], k.size(-2), dtype=q.dtype, device=q.device).copy_(mask)
    logits.flatten(0, 1).baddbmm_(q.flatten(0, 1), k.flatten(0, 1).mT)
    return logits.softmax(-1).to(dtype)


def through(out: Tensor, q: Tensor, k: Tensor, p: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of q, k and v from those of the output and the logits."""
    logits = logits.to(k.dtype)
    return logits @ k, logits.mT @ q, p.mT @ out


def softmax_(logits: Tensor, ends: Tensor) -> Tensor:
    """Logits (..., R, K) as weights, beyond `ends` (R,) zeros; without gradient, if possible in place."""
    by_c = loops("softmax", logits)
    if by_c is None:
        return logits.softmax(-1)
    logits = logits.contiguous()
    by_c("forward", logits.numel() // logits.size(-1), logits.size(-1), logits, ends.numel(), ends)
    return logits


def together(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-2)


def beside_sink(out: Tensor, total: Tensor, sink: Tensor) -> Tensor:
    """out (B, H, R, D) once a sink of logit (H, R or 1) has taken its share of the weights; `total` (B, H, R)
    is the logarithm of the sum of the others."""
    return (out * (total - sink).sigmoid()[..., None]).to(out.dtype)
