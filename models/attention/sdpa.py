"""PyTorch's own flash attention if position enters through q and k; otherwise its attention with a mask."""

from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from models.attention import masks
from models.attention.plan import Form, Plan

HOPPER = 9  # by its compute capability
OTHERS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def refusal(q: Tensor, plan: Plan) -> str | None:
    return None if plan.form <= Form.MASK else "it can rotate q and k and add a mask, no more"


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of all queries, (B, H, T, D)."""
    width, scale, logit_scale = v.size(-1), q.size(-1) ** -0.5, plan.effect.logit_scale
    q, k = plan.rotate(q, k)
    if logit_scale is not None:
        q = (q * logit_scale[..., None]).to(q.dtype)
    q, k, wide = to_one_width(q, k, v.to(q.dtype))
    if plan.form == Form.PLAIN:
        with fastest(q):
            out = attend_plainly(q, k, wide, scale, is_causal=plan.causal)
    else:
        out = attend_masked(q, k, wide, plan, scale)
    return out[..., :width].to(v.dtype)


def fastest(q: Tensor) -> AbstractContextManager:
    """Return a context in which PyTorch tries cuDNN first on Hopper and newer, where it is the fastest."""
    if not q.is_cuda or torch.cuda.get_device_capability(q.device)[0] < HOPPER:
        return nullcontext()
    return sdpa_kernel([SDPBackend.CUDNN_ATTENTION, *OTHERS], set_priority=True)


def attend_plainly(
    q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None = None, is_causal: bool = False
) -> Tensor:
    """Return PyTorch's attention of q (B, H, R, D) over k and v (B, H or fewer, K, D)."""
    is_grouped = k.size(1) < q.size(1)
    return F.scaled_dot_product_attention(
        q, k, v, mask, scale=scale, is_causal=is_causal, enable_gqa=is_grouped
    )


def to_one_width(*tensors: Tensor) -> list[Tensor]:
    """Return tensors (..., D) padded to the widest, as flash attention needs them."""
    widest = max(x.size(-1) for x in tensors)
    return [F.pad(x, (0, widest - x.size(-1))) if x.size(-1) < widest else x for x in tensors]


def attend_masked(q: Tensor, k: Tensor, v: Tensor, plan: Plan, scale: float) -> Tensor:
    """Return the output under a mask, in blocks of queries.

    They run from the last to the first: the memory that the longest one frees is enough for the others.
    """
    _, heads, length, _ = q.shape
    seen = length if plan.effect.visible is None else plan.effect.visible.width
    size = min(masks.ROWS, max(masks.FEWEST, min(seen, masks.BUDGET // (heads * length))))
    dtype = torch.float32 if q.is_cpu else q.dtype  # on a CPU a mask may be more precise than q
    out = []
    for rows in reversed(masks.slices(slice(0, length), size)):
        keys = masks.key_range(plan, rows)
        block_k, block_v = masks.with_sink(plan, k[:, :, keys], v[:, :, keys])
        mask = masks.mask(plan, rows, keys).to(dtype).expand(q.size(0), -1, -1, -1)
        out.append(attend_plainly(q[:, :, rows], block_k, block_v, scale, mask))
    return torch.cat(out[::-1], dim=-2)
