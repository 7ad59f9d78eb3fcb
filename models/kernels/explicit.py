"""Attention by matrix products in the precision of q, k and v, in blocks of queries.

The fastest way on a CPU, and the only one for effects that read the logits.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from models.effect import Effect
from models.kernels.pairs import additive, allowed, exactly, upside_down
from models.kernels.potential import as_features
from models.kernels.weighted import Block, Weighted, together, weigh
from models.precision import as_given

BUDGET = 1 << 22  # logits held at a time
TOUCHED = 1 << 20  # fewer where encodings work on them: blocks leave out what comes after their queries


def attend(q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D)"""
    height = None if effect.potential is None or x is None else effect.potential(x)
    if effect.adjust is not None or effect.values is not None or effect.far is not None:
        return by_logits(q, k, v, effect, causal, height)
    if height is not None and effect.temperature is not None:  # a product that features cannot hold exactly
        return by_logits(q, k, v, effect, causal, height)
    scale = q.size(-1) ** -0.5
    q, k = effect.rotate(q, k) if effect.rotate else (q, k)
    q = q * scale if effect.temperature is None else (q * (scale * effect.temperature[..., None])).to(q.dtype)
    with as_given(q.device):
        if height is not None:
            q, k = as_features(q, k, height)
        parts = divided(q, effect, causal, BUDGET)
        if not torch.is_grad_enabled():
            return streamed(q, k, v, effect, causal, parts)
        mask = whole_mask(effect, q.size(-2), causal, v.dtype)
        out: Tensor = Weighted.apply(q, k, v, mask, parts)
        return out


def streamed(q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, parts: list[Block]) -> Tensor:
    """(B, H, T, D) without gradient: nothing outlives its block. Queries run backwards, as the masks do,
    and so do blocks: what the longest one leaves free is enough for the others."""
    out = torch.empty_like(v)
    for rows, keys in reversed(parts):
        mask = upside_down(effect, rows, keys, causal, v.dtype)
        weights = weigh(q[:, :, rows].flip(-2), k[:, :, keys], mask, v.dtype)
        out[:, :, rows] = (weights @ v[:, :, keys]).flip(-2)
    return out


def by_logits(q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, height: Tensor | None) -> Tensor:
    """(B, H, T, D) for effects that read the logits, or choose between two."""
    logits, out, at = by_block(q, k, effect, causal, height, v.dtype), [], effect.positions.at
    for rows, keys in divided(q, effect, causal, min(BUDGET, TOUCHED)):
        weights = logits(rows, keys).softmax(-1).to(v.dtype)
        read = weights @ v[:, :, keys]
        if effect.values is not None:
            read = read + effect.values(weights, at[rows, None], at[None, keys]).to(v.dtype)
        out.append(read)
    return together(out)


def by_block(
    q: Tensor, k: Tensor, effect: Effect, causal: bool, height: Tensor | None, dtype: torch.dtype
) -> Callable[[slice, slice], Tensor]:
    """The logits (B, H, R, K) of some queries and some keys, in a model of precision `dtype`."""
    plain_q, plain_k, at = q, k, effect.positions.at
    scale = q.size(-1) ** -0.5
    q, k = effect.rotate(q, k) if effect.rotate else (q, k)
    far_q, far_k = effect.far.rotate(plain_q, plain_k) if effect.far else (None, None)
    q = q * scale

    def block(rows: slice, keys: slice) -> Tensor:
        with exactly(q, dtype):
            logits = q[:, :, rows] @ k[:, :, keys].mT
        if far_q is not None and far_k is not None:
            assert effect.far is not None
            distant = at[rows, None] - at[None, keys] >= effect.far.window
            with exactly(far_q, dtype):
                far_logits = far_q[:, :, rows] @ far_k[:, :, keys].mT * scale
            logits = torch.where(distant, far_logits, logits)
        logits = logits + additive(effect, rows, keys, causal, dtype)
        if height is not None:
            logits = logits + (height[..., rows, None] - height[..., None, keys]).to(dtype)
        if effect.adjust is not None:
            i, j = at[rows, None], at[None, keys]
            logits = effect.adjust(logits, plain_q[:, :, rows], plain_k[:, :, keys], i, j)
        if effect.temperature is not None:
            seen = allowed(effect, at[rows], at[keys], causal)
            logits = logits.masked_fill(~seen, 0) * effect.temperature[:, rows, None].to(dtype)
            logits = logits.masked_fill(~seen, float("-inf"))
        return logits

    return block


def whole_mask(effect: Effect, length: int, causal: bool, dtype: torch.dtype) -> Tensor:
    """(1 or H, T, T) bias and mask of all pairs, times the temperature; made once for all layers."""
    key = "mask", causal, dtype
    if key not in effect.shared:
        whole = slice(0, length)
        effect.shared[key] = upside_down(effect, whole, whole, causal, dtype).flip(-2)
    mask: Tensor = effect.shared[key]
    return mask


def divided(q: Tensor, effect: Effect, causal: bool, budget: int) -> list[Block]:
    """Queries in blocks that keep to the budget, each with the keys that it can see."""
    length = q.size(-2)
    rows = blocks(length, max(1, budget // (q.size(0) * q.size(1) * length)))
    return [(r, seen_keys(effect, r, length, causal)) for r in rows]


def seen_keys(effect: Effect, rows: slice, length: int, causal: bool) -> slice:
    """The smallest range of keys that holds every key these queries can see."""
    start = 0
    if effect.visible is not None and effect.visible.sinks == 0 and effect.positions.consecutive:
        start = max(0, rows.start - effect.visible.width + 1)
    return slice(start, rows.stop if causal else length)


def blocks(length: int, rows: int) -> list[slice]:
    """0 ... length in slices of at most `rows`."""
    return [slice(start, min(start + rows, length)) for start in range(0, length, rows)]
