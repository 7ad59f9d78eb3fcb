"""Attention by matrix products in the precision of q, k and v, in blocks of queries.

The fastest way on a CPU, and the only one for effects that read the logits.
"""

import torch
from torch import Tensor

from models.effect import Effect
from models.kernels.pairs import additive, allowed, exactly

BUDGET = 1 << 22  # logits held at a time


def attend(q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D)"""
    plain_q, plain_k, dtype = q, k, v.dtype
    q, k = effect.rotate(q, k) if effect.rotate else (q, k)
    far_q, far_k = effect.far.rotate(plain_q, plain_k) if effect.far else (None, None)
    scale = plain_q.size(-1) ** -0.5
    height = None if effect.potential is None or x is None else effect.potential(x)
    at, length = effect.positions.at, q.size(-2)
    q = q * scale
    out = []
    for rows in blocks(length, max(1, BUDGET // (q.size(0) * q.size(1) * length))):
        keys = seen_keys(effect, rows, length, causal)
        with exactly(q, v):
            logits = q[:, :, rows] @ k[:, :, keys].mT
        if far_q is not None and far_k is not None:
            assert effect.far is not None
            distant = at[rows, None] - at[None, keys] >= effect.far.window
            with exactly(far_q, v):
                far_logits = far_q[:, :, rows] @ far_k[:, :, keys].mT * scale
            logits = torch.where(distant, far_logits, logits)
        logits = logits + block_mask(effect, rows, keys, causal, dtype)
        if height is not None:
            logits = logits + (height[..., rows, None] - height[..., None, keys]).to(dtype)
        if effect.adjust is not None:
            logits = effect.adjust(
                logits, plain_q[:, :, rows], plain_k[:, :, keys], at[rows, None], at[None, keys]
            )
        if effect.temperature is not None:
            seen = allowed(effect, at[rows], at[keys], causal)
            logits = logits.masked_fill(~seen, 0) * effect.temperature[:, rows, None].to(dtype)
            logits = logits.masked_fill(~seen, float("-inf"))
        out.append(logits.softmax(-1).to(dtype) @ v[:, :, keys])
    return out[0] if len(out) == 1 else torch.cat(out, dim=-2)


def block_mask(effect: Effect, rows: slice, keys: slice, causal: bool, dtype: torch.dtype) -> Tensor:
    """The additive mask; where one block is the whole sequence, made once for all layers."""
    if rows.stop - rows.start < effect.positions.at.numel():
        return additive(effect, rows, keys, causal, dtype)
    key = "mask", causal, dtype
    if key not in effect.shared:
        effect.shared[key] = additive(effect, rows, keys, causal, dtype).contiguous()
    mask: Tensor = effect.shared[key]
    return mask


def seen_keys(effect: Effect, rows: slice, length: int, causal: bool) -> slice:
    """The smallest range of keys that holds every key these queries can see."""
    start = 0
    if effect.visible is not None and effect.visible.sinks == 0 and effect.positions.consecutive:
        start = max(0, rows.start - effect.visible.width + 1)
    return slice(start, rows.stop if causal else length)


def blocks(length: int, rows: int) -> list[slice]:
    """0 ... length in slices of at most `rows`."""
    return [slice(start, min(start + rows, length)) for start in range(0, length, rows)]
