"""Attention by matrix products in the precision of q, k and v, in blocks of queries.

The fastest way on a CPU without loops in C, and the only one for effects that read the logits.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from models.attention import masks as pairs
from models.attention import underflow
from models.attention.features import as_features
from models.attention.plan import Form, Plan
from models.attention.softmax import Block, Weighted, softmax_, together, weigh

BUDGET = 1 << 22  # logits held at a time
TOUCHED = 1 << 20  # fewer where encodings change them: smaller blocks skip more keys after their queries
FEWEST = 128  # queries at a time, or products would be slow; without gradient
SHARE = 32  # of the queries: no fewer at a time than that part of a long sequence


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan, x: Tensor | None = None) -> Tensor:
    """(B, H, R, D) of the queries that the plan wants; with gradient, of all."""
    if plan.form > Form.MASK:
        return by_logits(q, k, v, plan, x)
    scale, temperature, potential = q.size(-1) ** -0.5, plan.effect.temperature, plan.potential(x)
    q, k = plan.rotated(q, k, x)
    q = (q * (scale if temperature is None else scale * temperature[..., None])).to(q.dtype)
    if potential is not None:
        q, k = as_features(q, k, potential)
    if not torch.is_grad_enabled():
        return underflow.by_group(q, k, v, plan, 1.0, streamed)
    blocks = divided(q, plan, BUDGET)
    if plan.effect.sink is not None:
        k, v = pairs.with_sink(plan, k, v)
        blocks = [(rows, slice(0, keys.stop + 1)) for rows, keys in blocks]
    wide = torch.promote_types(v.dtype, torch.float32)
    out: Tensor = Weighted.apply(q, k, v, pairs.whole_mask(plan, wide), blocks)
    return out


def streamed(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """(B, H, R, D) without gradient: nothing outlives its block. Blocks run backwards: the memory that the
    longest one frees is enough for the others."""
    first = plan.first
    out = torch.empty_like(v[:, :, first:])
    length, visible = q.size(-2), plan.effect.visible
    most = BUDGET // max(1, q.size(0) * q.size(1) * length)
    size = max(FEWEST, most if visible is None else min(most, visible.width))
    for rows in reversed(pairs.parted(slice(first, length), size)):
        keys = pairs.visible_keys(plan, rows)
        some_k, some_v = pairs.with_sink(plan, k[:, :, keys], v[:, :, keys])
        mask = pairs.mask(plan, rows, keys, v.dtype)
        weights = weigh(pairs.ordered(plan, q[:, :, rows]), some_k, mask, v.dtype)
        out[:, :, pairs.moved(rows, -first)] = pairs.ordered(plan, weights @ some_v)
    return out


def by_logits(q: Tensor, k: Tensor, v: Tensor, plan: Plan, x: Tensor | None) -> Tensor:
    """(B, H, R, D) for effects that change each logit, or read them."""
    block, out, values = by_block(q, k, plan, v.dtype, x), [], plan.effect.values
    for rows, keys in reversed(divided(q, plan, min(BUDGET, TOUCHED))):  # as in `streamed`
        weights = weighed(block(rows, keys), plan, rows, keys, v.dtype)
        read = weights @ v[:, :, keys]
        if values is not None:
            i, j = pairs.positions(plan, rows, keys)
            read = read + values(weights, i.unsqueeze(-3), j.unsqueeze(-3)).to(v.dtype)
        out.append(read)
    return together(out[::-1])


def weighed(logits: Tensor, plan: Plan, rows: slice, keys: slice, dtype: torch.dtype) -> Tensor:
    """(B, H, R, K) the weights that finished logits have beside a sink."""
    sink = plan.effect.sink
    if sink is not None:
        column = pairs.of_queries(sink.to(logits.dtype), rows)
        logits = torch.cat([logits, column.expand(*logits.shape[:-1], 1)], dim=-1)
    elif not torch.is_grad_enabled() and logits.dtype == dtype:
        return softmax_(logits, pairs.ends(plan, rows, keys))
    return logits.softmax(-1).to(dtype)[..., : keys.stop - keys.start]


def by_block(
    q: Tensor, k: Tensor, plan: Plan, dtype: torch.dtype, x: Tensor | None = None
) -> Callable[[slice, slice], Tensor]:
    """The logits (B, H, R, K) of some queries and some keys, in a model of precision `dtype`."""
    effect, scale, potential = plan.effect, q.size(-1) ** -0.5, plan.potential(x)
    plain_q, plain_k = plan.phased(q, k, x)
    far = [(region.start, *region.rotate(plain_q, plain_k)) for region in effect.far]
    near_q, near_k = effect.rotate(plain_q, plain_k) if effect.rotate else (plain_q, plain_k)
    near_q = near_q * scale

    def block(rows: slice, keys: slice) -> Tensor:
        i, j = pairs.positions(plan, rows, keys)
        logits = near_q[:, :, rows] @ near_k[:, :, keys].mT
        for start, far_q, far_k in far:
            product = far_q[:, :, rows] @ far_k[:, :, keys].mT * scale
            logits = torch.where((i - j >= start).unsqueeze(-3), product, logits)
        factor = None if effect.factor is None else pairs.by_pair(plan, "factor", i, j).to(dtype)
        logits = pairs.added(plan, logits, rows, keys, factor)
        if potential is not None:
            logits = logits + (potential[..., rows, None] - potential[..., None, keys]).to(dtype)
        if effect.adjust is not None:
            some_q, some_k = q[:, :, rows], k[:, :, keys]
            logits = effect.adjust.function(logits, some_q, some_k, i.unsqueeze(-3), j.unsqueeze(-3))
        if effect.temperature is not None:
            logits = pairs.tempered(logits, pairs.of_queries(effect.temperature, rows).to(dtype))
        return logits

    return block


def divided(q: Tensor, plan: Plan, budget: int) -> list[Block]:
    """Queries in blocks within the budget, each with the keys that it can see."""
    length = q.size(-2)
    most = max(1, budget // max(1, q.size(0) * q.size(1) * length))
    size = most if torch.is_grad_enabled() else max(most, min(FEWEST, length // SHARE))
    return [(r, pairs.visible_keys(plan, r)) for r in pairs.parted(slice(plan.first, length), size)]
