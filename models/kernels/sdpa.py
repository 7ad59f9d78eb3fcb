"""PyTorch's fused kernels: flash attention where position enters through q and k, a float mask otherwise."""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.effect import Effect
from models.kernels import reach
from models.kernels.explicit import blocks, seen_keys
from models.kernels.pairs import additive, depends_on_distance, upside_down
from models.kernels.potential import as_features, of_line
from models.kernels.weighted import together
from models.precision import as_given

ROWS, FEWEST = 1024, 128  # queries a block, so that the mask is never T x T
BUDGET = 1 << 24  # pairs in a mask


def fits(effect: Effect) -> bool:
    """Whether an effect neither reads the logits nor mixes two rotations."""
    return effect.far is effect.adjust is effect.values is None


def is_flash(effect: Effect) -> bool:
    """Whether position enters through q and k alone, as they are or with features added."""
    if effect.potential is not None and (effect.bias is not None or effect.temperature is not None):
        return False
    line = effect.bias is None or (effect.temperature is None and of_line(effect) is not None)
    return line and fits(effect) and effect.visible is None


def attend(q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D); any effect but those that read the logits or mix two rotations."""
    if not fits(effect):
        raise ValueError("The sdpa kernel never sees the logits: use kernel=explicit for this encoding.")
    scale = q.size(-1) ** -0.5
    q, k = effect.rotate(q, k) if effect.rotate else (q, k)
    if effect.temperature is not None:
        q = q * effect.temperature[..., None].to(q.dtype)
    height = None if effect.potential is None or x is None else effect.potential(x)
    with as_given(q.device):
        found = reach.groups(effect, q, k, scale)
        if list(found) == [None]:
            return fused(q, k, v, effect, causal, height, scale)
        out = torch.empty_like(v)
        for width, heads in found.items():
            near = reach.of_heads(effect, heads, width)
            out[:, heads] = fused(q[:, heads], k[:, heads], v[:, heads], near, causal, None, scale)
        return out


def fused(
    q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, height: Tensor | None, scale: float
) -> Tensor:
    """(B, H, T, D) by flash attention, with a mask where position does not enter through q and k alone."""
    if is_flash(effect):
        return flash(q, k, v, of_line(effect) if effect.bias else height, causal, scale)
    return masked(q, k, v.to(q.dtype), effect, causal, height, scale).to(v.dtype)


def flash(q: Tensor, k: Tensor, v: Tensor, height: Tensor | None, causal: bool, scale: float) -> Tensor:
    """(B, H, T, D) with nothing between the logits and softmax."""
    if height is not None:
        q, k = as_features(q * scale, k, height.expand(*q.shape[:-1]))
        q, k, scale = *(F.pad(a, (0, -a.size(-1) % 8)) for a in (q, k)), 1.0
    wide = F.pad(v.to(q.dtype), (0, q.size(-1) - v.size(-1)))  # flash wants one width for all three
    out = F.scaled_dot_product_attention(q, k, wide, is_causal=causal, scale=scale)
    return out[..., : v.size(-1)].to(v.dtype)


def masked(
    q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, height: Tensor | None, scale: float
) -> Tensor:
    """(B, H, T, D) in blocks of queries, from the last to the first, as the views of their masks run; and so
    do the blocks: what the longest one leaves free is enough for the others."""
    wide, parts = F.pad(v, (0, q.size(-1) - v.size(-1))), []  # flash wants one width for all three
    dtype = torch.float32 if q.is_cpu else q.dtype  # a CPU's takes a mask that is more precise than q
    for rows in reversed(blocks(q.size(-2), at_a_time(effect, q))):
        keys = seen_keys(effect, rows, q.size(-2), causal)
        if height is None:
            mask = upside_down(effect, rows, keys, causal, dtype)
        else:
            mask = with_height(effect, height, rows, keys, causal).to(dtype)
        mask = mask.expand(q.size(0), -1, -1, -1)
        read = F.scaled_dot_product_attention(
            q[:, :, rows].flip(-2), k[:, :, keys], wide[:, :, keys], attn_mask=mask, scale=scale
        )
        parts.append(read[..., : v.size(-1)].flip(-2))
    return together(parts[::-1])


def at_a_time(effect: Effect, q: Tensor) -> int:
    """Queries a block: about as many as the keys that each of them sees, where those are few; and no more
    than keep to the budget, where the mask is not a view of a line."""
    _, heads, length, _ = q.shape
    seen = length if effect.visible is None else effect.visible.width
    most = ROWS if depends_on_distance(effect) else BUDGET // (heads * length)
    return min(ROWS, max(FEWEST, min(seen, most)))


def with_height(effect: Effect, height: Tensor, rows: slice, keys: slice, causal: bool) -> Tensor:
    """(B, H, R, K) bias, potential and mask times the temperature, its rows from the last to the first."""
    mask = additive(effect, rows, keys, causal, torch.float32)
    mask = mask + height[..., rows, None] - height[..., None, keys]
    if effect.temperature is not None:
        seen = mask > float("-inf")
        mask = mask.masked_fill(~seen, 0) * effect.temperature[:, rows, None]
        mask = mask.masked_fill(~seen, float("-inf"))
    return mask.flip(-2)
