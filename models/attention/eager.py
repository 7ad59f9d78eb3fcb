"""Attention by matrix products in the precision of q, k and v, in blocks of queries.

The fastest way on a CPU without loops in C, and the only one with gradients for effects that read the logits.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from models.attention import masks
from models.attention.plan import Form, Plan
from models.attention.sdpa import augment_qk
from models.ops.budget import budget_of
from models.ops.first_order import first_order

BUDGET = 1 << 22  # logits held at a time on a CPU, in its cache
TOUCHED = 1 << 20  # fewer where encodings change them: smaller blocks skip more keys after their queries
FEWEST = 128  # queries at a time, or products would be slow; without gradient
SHARE = 32  # of the queries: no fewer at a time than that part of a long sequence

Block = tuple[slice, slice]  # some queries, and the keys that they may see


def refusal(q: Tensor, plan: Plan) -> str | None:
    return None


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of the queries that the plan asks for, (B, H, R, D)."""
    if plan.form > Form.MASK:
        return by_logits(q, k, v, plan)
    scale, logit_scale, log_decay = q.size(-1) ** -0.5, plan.effect.logit_scale, plan.effect.log_decay
    q, k = plan.rotate(q, k)
    q = (q * (scale if logit_scale is None else scale * logit_scale[..., None])).to(q.dtype)
    if log_decay is not None:
        q, k = augment_qk(q, k, log_decay)
    if not torch.is_grad_enabled():
        return evaluate(q, k, v, plan)
    blocks = divide(q, plan, budget_of(q, BUDGET))
    if plan.effect.sink is not None:
        k, v = masks.with_sink(plan, k, v)
        blocks = [(rows, slice(0, keys.stop + 1)) for rows, keys in blocks]
    out: Tensor = MaskedAttention.apply(q, k, v, masks.whole_mask(plan), blocks)
    return out


def evaluate(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output under a mask without gradient, keeping nothing of a block.

    Blocks run backwards: the memory that the longest one frees is enough for the others.
    """
    start, length, window = plan.query_start, q.size(-2), plan.window
    out = torch.empty_like(v[:, :, start:])
    budget = budget_of(q, BUDGET) // max(1, q.size(0) * q.size(1) * length)
    size = max(FEWEST, budget if window is None else min(budget, window))
    for rows in reversed(masks.split(slice(start, length), size)):
        keys = masks.visible_keys(plan, rows)
        block_k, block_v = masks.with_sink(plan, k[:, :, keys], v[:, :, keys])
        probs = masked_softmax(q[:, :, rows], block_k, masks.mask(plan, rows, keys), v.dtype)
        out[:, :, masks.shift(rows, -start)] = probs @ block_v
    return out


def by_logits(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output under an effect that changes or reads each logit, (B, H, R, D)."""
    logits, values = block_logits(q, k, plan, v.dtype), plan.effect.values
    blocks = divide(q, plan, budget_of(q, min(BUDGET, TOUCHED)))

    def read(rows: slice, keys: slice) -> Tensor:
        probs = softmax(logits(rows, keys), plan, rows, v.dtype)
        out = probs @ v[:, :, keys]
        if values is None:
            return out
        i, j = masks.positions(plan, rows, keys)
        return out + values(probs, i.unsqueeze(-3), j.unsqueeze(-3)).to(v.dtype)

    is_twice = torch.is_grad_enabled() and q.is_cuda and len(blocks) > 1  # to keep no logits for the gradient
    read_block = (
        partial(checkpoint, read, use_reentrant=False, preserve_rng_state=False) if is_twice else read
    )
    return torch.cat([read_block(*block) for block in reversed(blocks)][::-1], dim=-2)  # as in `evaluate`


def block_logits(q: Tensor, k: Tensor, plan: Plan, dtype: torch.dtype) -> Callable[[slice, slice], Tensor]:
    """Return a function of query and key slices that gives their logits (B, H, R, K), for v of `dtype`."""
    effect, scale, log_decay = plan.effect, q.size(-1) ** -0.5, plan.effect.log_decay
    regions, own = effect.regions, None if effect.attention is None else effect.attention.scores
    scores = None if own is None else own(q, k)
    far = [] if regions is None else [rotate(q, k) for rotate in regions.rotations]
    near_q, near_k = plan.rotate(q, k)
    near_q = near_q * scale

    def block(rows: slice, keys: slice) -> Tensor:
        i, j = masks.positions(plan, rows, keys)
        if scores is None:
            logits = near_q[:, :, rows] @ near_k[:, :, keys].mT
        else:
            logits = scores[:, :, rows, keys].to(q.dtype)
        if regions is not None:
            region = regions(i, j).unsqueeze(-3)
            for number, (far_q, far_k) in enumerate(far, 1):
                product = far_q[:, :, rows] @ far_k[:, :, keys].mT * scale
                logits = torch.where(region >= number, product, logits)
        factor = None if effect.score_scale is None else masks.by_pair(plan, "score_scale", i, j).to(dtype)
        logits = add_bias(plan, logits, rows, keys, factor)
        if log_decay is not None:
            logits = logits + (log_decay[..., rows, None] - log_decay[..., None, keys]).to(dtype)
        if effect.adjust is not None:
            block_q, block_k = q[:, :, rows], k[:, :, keys]
            logits = effect.adjust.function(logits, block_q, block_k, i.unsqueeze(-3), j.unsqueeze(-3))
        if effect.logit_scale is not None:
            logits = masks.scale_visible(logits, masks.of_queries(effect.logit_scale, rows).to(dtype))
        return logits

    return block


def add_bias(plan: Plan, logits: Tensor, rows: slice, keys: slice, factor: Tensor | None = None) -> Tensor:
    """Return logits (B, H, R, K) times `score_scale`, plus the bias; in place if there is no gradient."""
    if torch.is_grad_enabled():
        return (logits if factor is None else logits * factor) + masks.bias(plan, rows, keys).to(logits.dtype)
    if factor is not None:
        logits *= factor
    if plan.effect.bias is None and plan.effect.visible is None:
        return masks.hide(plan, logits, rows, keys)
    logits += masks.bias(plan, rows, keys).to(logits.dtype)
    return logits


def softmax(logits: Tensor, plan: Plan, rows: slice, dtype: torch.dtype) -> Tensor:
    """Return the weights of final logits (B, H, R, K), next to a sink if there is one."""
    sink = plan.effect.sink
    if sink is not None:
        column = masks.of_queries(sink.to(logits.dtype), rows)
        logits = torch.cat([logits, column.expand(*logits.shape[:-1], 1)], dim=-1)
        return plan.effect.weigh(logits).to(dtype)[..., :-1]
    return plan.effect.weigh(logits).to(dtype)


def masked_softmax(q: Tensor, k: Tensor, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return softmax(q k^T + mask), (B, H, R, K); the product is accumulated into the mask."""
    logits = torch.empty(*q.shape[:-1], k.size(-2), dtype=q.dtype, device=q.device).copy_(mask)
    logits.flatten(0, 1).baddbmm_(q.flatten(0, 1), k.flatten(0, 1).mT)
    return logits.softmax(-1).to(dtype)


def divide(q: Tensor, plan: Plan, budget: int) -> list[Block]:
    """Return the queries in blocks within the budget, each with its visible keys."""
    length = q.size(-2)
    size = max(1, budget // max(1, q.size(0) * q.size(1) * length))
    if not torch.is_grad_enabled():
        size = max(size, min(FEWEST, length // SHARE))
    return [(r, masks.visible_keys(plan, r)) for r in masks.split(slice(plan.query_start, length), size)]


class MaskedAttention(torch.autograd.Function):
    """softmax(q k^T + mask) v, block by block; the mask broadcasts to (B, H, T, T).

    Autograd would keep the logits before and after the mask, and pad the gradient of every block with
    zeros. Here only the weights are kept, in the precision of v.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, blocks: list[Block]) -> Tensor:
        probs = [masked_softmax(q[:, :, r], k[:, :, c], mask[..., r, c], v.dtype) for r, c in blocks]
        ctx.save_for_backward(q, k, v, mask, *probs)
        ctx.blocks = blocks
        return torch.cat([p @ v[:, :, c] for p, (_, c) in zip(probs, blocks, strict=True)], dim=-2)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, mask, *probs = ctx.saved_tensors
        out, to_mask = gradients[0].contiguous(), torch.zeros_like(mask) if ctx.needs_input_grad[3] else None
        to_q, to_k, to_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for p, (r, c) in zip(probs, ctx.blocks, strict=True):
            to_logits = torch._softmax_backward_data(out[:, :, r] @ v[:, :, c].mT, p, -1, p.dtype)
            if to_mask is not None:
                to_mask[..., r, c] += to_logits.sum_to_size(mask[..., r, c].shape)
            to_logits = to_logits.to(k.dtype)
            to_q[:, :, r] += to_logits @ k[:, :, c]
            to_k[:, :, c] += to_logits.mT @ q[:, :, r]
            to_v[:, :, c] += p.mT @ out[:, :, r]
        return to_q, to_k, to_v, to_mask, None
