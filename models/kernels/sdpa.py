"""PyTorch's fused kernels: flash attention where nothing is added to the logits, a float mask otherwise."""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.effect import Effect
from models.kernels.explicit import blocks
from models.kernels.pairs import additive, exactly

ROWS = 1024  # queries a block, so that the mask is never T x T


def is_plain(effect: Effect) -> bool:
    """Whether position enters through q and k alone."""
    return effect.far is effect.bias is effect.potential is effect.adjust is effect.visible is None


def attend(q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D); any effect but those that read the logits or mix two rotations."""
    if effect.adjust is not None or effect.far is not None:
        raise ValueError("The sdpa kernel never sees the logits: use kernel=explicit for this encoding.")
    scale = q.size(-1) ** -0.5
    q, k = effect.rotate(q, k) if effect.rotate else (q, k)
    if effect.temperature is not None:
        q = q * effect.temperature[..., None].to(q.dtype)
    with exactly(q, v):
        return fused(q, k, v.to(q.dtype), effect, causal, x, scale).to(v.dtype)


def fused(
    q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, x: Tensor | None, scale: float
) -> Tensor:
    """(B, H, T, D) from q and k that are turned."""
    if is_plain(effect):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    height = None if effect.potential is None or x is None else effect.potential(x)
    out = []
    for rows in blocks(q.size(-2), ROWS):
        keys = slice(0, rows.stop if causal else q.size(-2))
        mask = additive(effect, rows, keys, causal, torch.float32)
        if height is not None:
            mask = mask + height[..., rows, None] - height[..., None, keys]
        if effect.temperature is not None:
            seen = mask > float("-inf")
            mask = mask.masked_fill(~seen, 0) * effect.temperature[:, rows, None]
            mask = mask.masked_fill(~seen, float("-inf"))
        out.append(
            F.scaled_dot_product_attention(
                q[:, :, rows], k[:, :, keys], v[:, :, keys], attn_mask=mask.to(q.dtype), scale=scale
            )
        )
    return torch.cat(out, dim=-2)
