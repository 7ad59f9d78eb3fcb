"""PyTorch's fused kernels: flash attention where position enters through q and k, else with a mask."""

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from conf.errors import UsageError
from models.attention import masks as pairs
from models.attention import underflow
from models.attention.features import as_features
from models.attention.masks import BUDGET, FEWEST, ROWS
from models.attention.plan import Form, Plan
from models.attention.softmax import beside_sink, together


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D); any effect that adds no more than a mask to the product."""
    if plan.form > Form.MASK:
        raise UsageError("The sdpa kernel never sees the logits: use kernel=explicit for this encoding.")
    scale, temperature, potential = q.size(-1) ** -0.5, plan.effect.temperature, plan.potential(x)
    q, k = plan.rotated(q, k, x)
    if temperature is not None:
        q = q * temperature[..., None].to(q.dtype)
    return underflow.by_group(
        q, k, v, plan, scale, lambda q, k, v, some: fused(q, k, v, some, potential, scale)
    )


def fused(q: Tensor, k: Tensor, v: Tensor, plan: Plan, potential: Tensor | None, scale: float) -> Tensor:
    """(B, H, T, D) by flash attention, with a mask where position does not enter through q and k alone."""
    sink = plan.effect.sink if q.is_cpu and not torch.is_grad_enabled() else None
    if sink is not None:  # `read` has the sums of the weights here, and needs no mask for it
        plan = plan.once("without sink", lambda: Plan(replace(plan.effect, sink=None)))
    flash = plan.form == Form.PRODUCT
    if flash and plan.slopes is not None:
        potential = (plan.slopes * plan.positions.at).float()  # a straight line is one
    if potential is not None:
        q, k = as_features(q * scale, k, potential.expand(*q.shape[:-1]))
        q, k, scale = *(F.pad(a, (0, -a.size(-1) % 8)) for a in (q, k)), 1.0
    wide = F.pad(v.to(q.dtype), (0, q.size(-1) - v.size(-1)))  # flash attention needs one width for all three
    if flash:
        out = read(q, k, wide, sink, scale=scale, is_causal=plan.causal)
    else:
        out = masked(q, k, wide, plan, scale, sink)
    return out[..., : v.size(-1)].to(v.dtype)


def masked(q: Tensor, k: Tensor, v: Tensor, plan: Plan, scale: float, sink: Tensor | None) -> Tensor:
    """(B, H, T, D) in blocks of queries, from the last to the first: the memory that the longest one frees is
    enough for the others."""
    out = []
    dtype = torch.float32 if q.is_cpu else q.dtype  # on a CPU a mask may be more precise than q
    for rows in reversed(pairs.parted(slice(0, q.size(-2)), at_a_time(plan, q))):
        keys = pairs.visible_keys(plan, rows)
        some_q = pairs.ordered(plan, q[:, :, rows])
        some_k, some_v = pairs.with_sink(plan, k[:, :, keys], v[:, :, keys])
        mask = pairs.mask(plan, rows, keys, dtype).expand(q.size(0), -1, -1, -1)
        of_rows = None if sink is None else pairs.ordered(plan, pairs.of_queries(sink, rows)).squeeze(-1)
        some = read(some_q, some_k, some_v, of_rows, scale=scale, attn_mask=mask)
        out.append(pairs.ordered(plan, some))
    return together(out[::-1])


def read(q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None, **options: Any) -> Tensor:
    """(B, H, R, D) by PyTorch, beside a sink (H, R or 1) if there is one."""
    if sink is None:
        return F.scaled_dot_product_attention(q, k, v, **options)
    out, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, **options)
    return beside_sink(out, total, sink)


def at_a_time(plan: Plan, q: Tensor) -> int:
    """Queries a block: about as many as the keys that each sees, if these are few, and no more than the
    budget allows, unless the mask is a view of a line."""
    _, heads, length, _ = q.shape
    visible = plan.effect.visible
    seen = length if visible is None else visible.width
    most = ROWS if plan.form == Form.DIAGONALS else BUDGET // (heads * length)
    return min(ROWS, max(FEWEST, min(seen, most)))
