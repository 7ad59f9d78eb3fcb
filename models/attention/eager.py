"""Attention by matrix products in blocks of queries, with float32 logits and biases whatever the precision.

The fastest way on a CPU without loops in C, and the only one with gradients for effects that read the logits.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from models.attention import masks
from models.attention.plan import Plan
from models.ops.precision import widen
from models.ops.processor import budget_of

BUDGET = 1 << 20  # logits held at a time on a CPU: in its cache; small blocks skip keys after their queries
FEWEST = 128  # queries at a time, or products would be slow; without gradient
SHARE = 32  # of the queries: no fewer at a time than that part of a long sequence

Block = tuple[slice, slice]  # some queries, and the keys that they may see


def refusal(q: Tensor, plan: Plan) -> str | None:
    return None


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of the queries that the plan asks for, (B, H, R, D).

    Blocks run backwards: the memory that the longest one frees is enough for the others.
    """
    logits, values, blocks = block_logits(q, k, plan), plan.effect.values, divide(q, plan)

    def read(rows: slice, keys: slice) -> Tensor:
        probs = weights_of(logits(rows, keys), plan, rows).to(v.dtype)
        out = probs @ v[:, :, keys]
        if values is None:
            return out
        i, j = masks.positions(plan, rows, keys)
        return out + values(probs, i.unsqueeze(-3), j.unsqueeze(-3)).to(v.dtype)

    is_twice = torch.is_grad_enabled() and q.is_cuda and len(blocks) > 1  # to keep no logits for the gradient
    read_block = (
        partial(checkpoint, read, use_reentrant=False, preserve_rng_state=False) if is_twice else read
    )
    return torch.cat([read_block(*block) for block in reversed(blocks)][::-1], dim=-2)


def divide(q: Tensor, plan: Plan) -> list[Block]:
    """Return the queries in blocks within the budget, each with its visible keys."""
    length = q.size(-2)
    size = max(1, budget_of(q, BUDGET) // max(1, q.size(0) * q.size(1) * length))
    if not torch.is_grad_enabled():
        size = max(size, min(FEWEST, length // SHARE))
    return [(r, masks.key_range(plan, r)) for r in masks.slices(slice(plan.query_start, length), size)]


def block_logits(q: Tensor, k: Tensor, plan: Plan) -> Callable[[slice, slice], Tensor]:
    """Return a function of query and key slices that gives their logits (B, H, R, K), in float32."""
    effect, scale, log_decay = plan.effect, q.size(-1) ** -0.5, plan.effect.log_decay
    regions, scores = effect.regions, None if effect.attention is None else effect.attention.scores
    rotated = [plan.rotate(q, k), *(rotate(q, k) for rotate in (regions.rotations if regions else ()))]
    (near_q, near_k), *far = [(widen(a) * scale, widen(b)) for a, b in rotated]

    def block(rows: slice, keys: slice) -> Tensor:
        i, j = masks.positions(plan, rows, keys)
        logits = (
            near_q[:, :, rows] @ near_k[:, :, keys].mT if scores is None else scores(q, k, rows)[..., keys]
        )
        if regions is not None:
            region = regions(i, j).unsqueeze(-3)
            for number, (far_q, far_k) in enumerate(far, 1):
                logits = torch.where(region >= number, far_q[:, :, rows] @ far_k[:, :, keys].mT, logits)
        logits = add_bias(plan, logits, rows, keys)
        if log_decay is not None:
            logits = logits + (log_decay[..., rows, None] - log_decay[..., None, keys])
        if effect.adjust is not None:
            content = widen(q[:, :, rows]), widen(k[:, :, keys])
            logits = effect.adjust.function(logits, *content, i.unsqueeze(-3), j.unsqueeze(-3))
        if effect.logit_scale is not None:
            logits = masks.scale_visible(logits, masks.of_queries(effect.logit_scale, rows))
        return logits

    return block


def add_bias(plan: Plan, logits: Tensor, rows: slice, keys: slice) -> Tensor:
    """Return logits (B, H, R, K) times `score_scale`, plus the bias; in place if there is no gradient."""
    effect, learns = plan.effect, torch.is_grad_enabled()
    if effect.score_scale is not None:
        factor = masks.by_pair(plan, "score_scale", *masks.positions(plan, rows, keys))
        logits = logits * factor if learns else logits.mul_(factor)
    if effect.bias is None and effect.visible is None and not learns:
        return masks.hide(plan, logits, rows, keys)
    bias = masks.bias(plan, rows, keys)
    return logits + bias if learns else logits.add_(bias)


def weights_of(logits: Tensor, plan: Plan, rows: slice) -> Tensor:
    """Return the weights of final logits (B, H, R, K), next to a sink if there is one."""
    sink = plan.effect.sink
    if sink is None:
        return plan.effect.weigh(logits)
    column = masks.of_queries(widen(sink), rows)
    return plan.effect.weigh(torch.cat([logits, column.expand(*logits.shape[:-1], 1)], dim=-1))[..., :-1]
