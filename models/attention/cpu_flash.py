"""Flash attention in C: the fastest way on a CPU, for all effects that add to logits or multiply them.

Logits never leave the processor's cache, and what distances decide is read from one line. With gradient,
the weights are kept in the precision of v.
"""

from dataclasses import replace

import torch
from torch import Tensor

from models.attention import masks
from models.attention.plan import Form, Plan, as_many_heads, cached
from models.cpu.attention import Logits, has_loops, loops_for, read_keys, same_dtype
from models.cpu.attention_backward import flash
from models.distance import ByDistance
from models.ops.precision import is_inspectable


def refusal(q: Tensor, plan: Plan) -> str | None:
    """Return why the loops cannot compute a plan, with gradients if they are on; None if they can."""
    learns = torch.is_grad_enabled()
    if torch.compiler.is_compiling():
        has_any = learns and q.is_cpu and has_loops(q.dtype)
    else:
        has_any = q.is_meta or loops_for(q) is not None
    if not has_any:
        return "there are no loops in C for this device and precision"
    return refusal_of_plan(plan, learns)


@cached
def refusal_of_plan(plan: Plan, learns: bool) -> str | None:
    """Return why no loops in C can compute a plan; None if they can."""
    if plan.form == Form.FULL_SCORES:
        return "the encoding reads whole rows of logits or weights"
    if "regions" in plan.parts:
        return "the encoding rotates far keys in another way"
    if "log_decay" in plan.parts and (has_mask(plan, learns) or "logit_scale" in plan.parts):
        return "a decay stands beside another bias, mask or logit_scale"
    if learns and "score_scale" in plan.parts:
        if "sink" in plan.parts:
            return "a factor stands beside a sink, with gradients"
        first = plan.positions.at[..., :1]
        if masks.by_pair(plan, "score_scale", first[..., None], first[..., None, :]).requires_grad:
            return "the factor of the logits has a gradient"
    return None


def has_mask(plan: Plan, learns: bool) -> bool:
    """Return whether the loops need a number for each pair, or each distance, beyond causality and a
    window."""
    has_bias = "bias" in plan.parts and (learns or straight_line(plan) is None)
    is_hiding = "visible" in plan.parts and plan.window is None
    return "score_scale" in plan.parts or has_bias or is_hiding or (learns and "sink" in plan.parts)


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of the queries that the plan asks for, (B, H, R, D)."""
    learns, dtype = torch.is_grad_enabled(), v.dtype
    if learns:  # the gradients of a shared head would be added by several threads at once
        k, v = as_many_heads(q, k, v)
    scale, logit_scale = q.size(-1) ** -0.5, plan.effect.logit_scale
    q, k, v = same_dtype(*plan.rotate(q, k), v)
    if q.is_meta:
        return q.new_empty(*q.shape[:2], q.size(2) - plan.query_start, v.size(-1), dtype=dtype)
    if logit_scale is not None:
        q, scale = (q * (scale * logit_scale[..., None])).to(q.dtype), 1.0
    decay = plan.effect.log_decay
    if decay is None and not learns:
        decay = straight_line(plan)
    lost = None if decay is None else -decay.float()[:, :, None]  # (1 or B, 1 or H, 1, T)
    window = (plan.window or plan.positions.length) if plan.causal else None
    scores = Logits(scale, window, lost, is_decay=decay is not None)
    return (attend_with_gradient if learns else attend_without_gradient)(q, k, v, plan, scores).to(dtype)


def attend_without_gradient(q: Tensor, k: Tensor, v: Tensor, plan: Plan, scores: Logits) -> Tensor:
    """Return the output of attention without gradient; in blocks if a mask has a number for each pair."""
    sink, decay, out = plan.effect.sink, scores.mask if scores.is_decay else None, []
    is_masked = has_mask(plan, learns=False)
    for rows, keys in masks.blocks(plan, q.size(1), is_masked):
        mask = masks.compact_mask(plan, rows, keys) if is_masked else None
        block = replace(
            scores,
            mask=decay[..., keys] if isinstance(decay, Tensor) else mask,
            factor=masks.compact_factor(plan, rows, keys),
            sink=None if sink is None else masks.of_queries(sink, rows),
        )
        out.append(read_keys(q[:, :, rows], k[:, :, keys], v[:, :, keys], block)[0])
    return out[0] if len(out) == 1 else torch.cat(out[::-1], dim=-2)


def attend_with_gradient(q: Tensor, k: Tensor, v: Tensor, plan: Plan, scores: Logits) -> Tensor:
    """Return the output of all queries, with gradient."""
    window, mask = scores.window, masks.whole_mask(plan) if has_mask(plan, learns=True) else scores.mask
    factor = None if plan.effect.score_scale is None else masks.whole_factor(plan)
    if plan.effect.sink is not None:
        (k, v), window = masks.with_sink(plan, k, v), window and k.size(-2) + 1
    out: Tensor = flash([q, k, v], mask, factor, scores.scale, window, scores.is_decay)[0]
    return out


@cached
def straight_line(plan: Plan) -> Tensor | None:
    """Return the part of a linear bias that depends on the key, (1, 1 or H, T); None if the bias is not
    linear.

    For positions that are not consecutive, this spares a look-up for each pair.
    """
    bias, at = plan.effect.bias, plan.positions.at
    if plan.parts != {"bias"} or not isinstance(bias, ByDistance) or not plan.causal:
        return None
    if plan.positions.is_consecutive or not plan.positions.is_whole or at.dim() > 1 or not is_inspectable(at):
        return None
    distances = plan.positions.distances
    assert distances is not None
    values = bias.function(distances).double()  # (1 or H, S)
    slope = (values[:, -1:] - values[:, :1]) / (values.size(1) - 1)
    line = values[:, :1] + slope * torch.arange(values.size(1))
    return (slope * at).float()[None] if torch.allclose(line, values, rtol=1e-6, atol=1e-6) else None
