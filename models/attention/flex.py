"""FlexAttention: the bias is looked up inside the kernel, and blocks that are hidden are skipped."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask, flex_attention

from models.attention import masks
from models.attention.plan import Form, Plan, cached
from models.effect import ByDistance, Effect


def fits(q: Tensor, plan: Plan) -> bool:
    return plan.form < Form.FULL_SCORES


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan, x: Tensor | None = None) -> Tensor:
    """Return what all queries read, (B, H, T, D)."""
    scale, sink, log_decay = q.size(-1) ** -0.5, plan.effect.sink, plan.log_decay(x)
    q, k, v = in_regions(*plan.rotate_phase(q, k, x), v, plan.effect)
    seen = block_mask(plan, q.size(0) if plan.positions.at.dim() == 2 else None, k.size(-2), q.device.type)
    if q.is_meta and not q.is_cuda:  # FlexAttention refuses that device
        return torch.empty_like(v[..., : q.size(-2), :])
    run: Any = compiled_flex() if q.is_cuda else flex_attention
    wanted = None if sink is None else AuxRequest(lse=True)
    out = run(q, k, v.to(q.dtype), score_of(plan, log_decay), seen, scale=scale, return_aux=wanted)
    if sink is not None:  # takes its share of the weights
        out = out[0] * (out[1].lse - sink).sigmoid()[..., None]
    return cast(Tensor, out.to(v.dtype))


@cached
def block_mask(plan: Plan, sequences: int | None, keys: int, device: str) -> BlockMask:
    return create_block_mask(mask_of(plan), sequences, None, plan.positions.length, keys, device)


@cache
def compiled_flex() -> Callable:
    """Return the one compiled FlexAttention for all layers and lengths."""
    return torch.compile(flex_attention, dynamic=True)


def in_regions(q: Tensor, k: Tensor, v: Tensor, effect: Effect) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k, v with the rotations applied.

    With far regions every key appears once per rotation, each copy in a part of its own of a head that is
    as much wider: (q, q') . (k, 0) = q.k and (q, q') . (0, k') = q'.k'. `mask_of` then shows each query
    one copy of every key.
    """
    rotated = [effect.rotate(q, k) if effect.rotate else (q, k)]
    rotated += [region.rotate(q, k) for region in effect.far]
    if not effect.far:
        return *rotated[0], v
    keys, before, width = [], 0, sum(k.size(-1) for _, k in rotated)
    for _, k in rotated:
        keys.append(F.pad(k, (before, width - before - k.size(-1))))
        before += k.size(-1)
    return torch.cat([q for q, _ in rotated], -1), torch.cat(keys, -2), torch.cat([v] * len(rotated), -2)


def positions_of(plan: Plan) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the position of a token, by its sequence and its index."""
    at = plan.positions.at
    return (lambda b, index: at[index]) if at.dim() == 1 else (lambda b, index: at[b, index])


def mask_of(plan: Plan) -> Callable:
    """Return FlexAttention's mask: which keys a query may see, by indices into q and k."""
    effect, length, at = plan.effect, plan.positions.length, positions_of(plan)
    starts = [region.start for region in effect.far]

    def mask_mod(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        key = j % length
        q_at, k_at = at(b, i), at(b, key)
        result = i >= key if plan.causal else i >= 0
        if starts:
            region = sum((q_at - k_at >= start).int() for start in starts)
            result = result & (region == j // length)
        if effect.visible is not None:
            result = result & effect.visible(q_at, k_at)
        return result

    return mask_mod


def score_of(plan: Plan, log_decay: Tensor | None) -> Callable | None:
    """Return FlexAttention's score: score_scale, bias, log_decay and logit_scale of one pair."""
    length, logit_scale = plan.positions.length, plan.effect.logit_scale
    if logit_scale is not None:
        logit_scale = logit_scale.expand(-1, length)
    factor, bias = (pair_of(plan, name) for name in ("score_scale", "bias"))
    if factor is bias is log_decay is logit_scale is None:
        return None

    def score_mod(value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        key = j % length
        if factor is not None:
            value = value * factor(b, h, i, key)
        if bias is not None:
            value = value + bias(b, h, i, key)
        if log_decay is not None:
            value = value + log_decay[b, h, i] - log_decay[b, h, key]
        if logit_scale is not None:
            value = value * logit_scale[h % logit_scale.size(0), i]
        return value

    return score_mod


def pair_of(plan: Plan, name: str) -> Callable | None:
    """Return the effect's `bias` or `score_scale` of one pair."""
    number, at = getattr(plan.effect, name), plan.positions.at
    if number is None:
        return None
    if isinstance(number, ByDistance) and plan.positions.whole:
        values, first = number.table(plan.positions)
        where = positions_of(plan)
        heads, last = values.size(0), values.size(1) - 1
        return lambda b, h, i, j: values[h % heads, (where(b, i) - where(b, j) - first).clamp(0, last)]
    dense = masks.by_pair(plan, name, at[..., :, None], at[..., None, :])  # (H, T, T), or (B, H, T, T)
    dense = dense if dense.dim() == 4 else dense[None]
    return lambda b, h, i, j: dense[b % dense.size(0), h % dense.size(1), i, j]
