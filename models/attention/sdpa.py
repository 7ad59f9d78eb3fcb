"""PyTorch's own flash attention if position enters through q and k; otherwise its attention with a mask."""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention import masks
from models.attention.plan import Form, Plan

BITS = {torch.bfloat16: 8, torch.float16: 11}  # of a float32's 24


def refusal(q: Tensor, plan: Plan) -> str | None:
    return None if plan.form <= Form.MASK else "it can rotate q and k and add a mask, no more"


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of all queries, (B, H, T, D)."""
    width, scale = v.size(-1), q.size(-1) ** -0.5
    logit_scale, log_decay = plan.effect.logit_scale, plan.effect.log_decay
    q, k = plan.rotate(q, k)
    if logit_scale is not None:
        q = (q * logit_scale[..., None]).to(q.dtype)
    if log_decay is not None:
        q, k, scale = *augment_qk(q * scale, k, log_decay), 1.0
        q, k = (F.pad(a, (0, -a.size(-1) % 8)) for a in (q, k))
    q, k, wide = to_one_width(q, k, v.to(q.dtype))
    if plan.form == Form.PLAIN:
        out = F.scaled_dot_product_attention(q, k, wide, scale=scale, is_causal=plan.causal)
    else:
        out = attend_masked(q, k, wide, plan, scale)
    return out[..., :width].to(v.dtype)


def to_one_width(*tensors: Tensor) -> list[Tensor]:
    """Return tensors (..., D) padded to the widest, as flash attention needs them."""
    widest = max(x.size(-1) for x in tensors)
    return [F.pad(x, (0, widest - x.size(-1))) for x in tensors]


def attend_masked(q: Tensor, k: Tensor, v: Tensor, plan: Plan, scale: float) -> Tensor:
    """Return the output under a mask, in blocks of queries.

    They run from the last to the first: the memory that the longest one frees is enough for the others.
    """
    _, heads, length, _ = q.shape
    seen = length if plan.effect.visible is None else plan.effect.visible.width
    size = min(masks.ROWS, max(masks.FEWEST, min(seen, masks.BUDGET // (heads * length))))
    dtype = torch.float32 if q.is_cpu else q.dtype  # on a CPU a mask may be more precise than q
    out = []
    for rows in reversed(masks.split(slice(0, length), size)):
        keys = masks.visible_keys(plan, rows)
        block_k, block_v = masks.with_sink(plan, k[:, :, keys], v[:, :, keys])
        mask = masks.mask(plan, rows, keys).to(dtype).expand(q.size(0), -1, -1, -1)
        out.append(F.scaled_dot_product_attention(q[:, :, rows], block_k, block_v, mask, scale=scale))
    return torch.cat(out[::-1], dim=-2)


def augment_qk(q: Tensor, k: Tensor, log_decay: Tensor) -> tuple[Tensor, Tensor]:
    """Return q and k with more features, which add c_i - c_j to their product for a log_decay c (B, H, T),
    exact to float32."""
    q_parts, k_parts = split_precision(log_decay, q.dtype), split_precision(log_decay, k.dtype)
    ones = torch.ones_like(k_parts)
    return torch.cat([q, q_parts, ones], dim=-1), torch.cat([k, ones, -k_parts], dim=-1)


def split_precision(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return numbers of lower precision that add up to x, (..., n); the gradient flows through the first."""
    parts, rest = [], x
    for _ in range(-(-24 // BITS.get(dtype, 24))):
        parts.append(rest.to(dtype))
        rest = rest.detach() - parts[-1].detach().float()
    return torch.stack(parts, dim=-1)
