"""Carrying out an effect: one meaning, several kernels.

`logits` is the meaning. The kernels in `models.kernels` must agree with it, forward and backward, and
are tested against it for every encoding.
"""

from dataclasses import replace

import torch
from torch import Tensor

from conf.errors import UsageError
from models.attention import cpu_flash as fused
from models.attention import eager as explicit
from models.attention import far_keys as band
from models.attention import flex, sdpa
from models.attention import masks as pairs
from models.attention.plan import Form, Plan
from models.effect import Effect
from models.ops.precision import without_autocast
from models.ops.processor import bfloat16_by_onednn

KERNELS = ("reference", "explicit", "fused", "sdpa", "band", "flex")


def attend(
    q: Tensor, k: Tensor, v: Tensor, effect: Effect | Plan, x: Tensor | None = None, kernel: str = "auto"
) -> Tensor:
    """(B, H, T, D) attention of q, k, v (B, H, T, D) under `effect`; x is the hidden state (B, T, C).

    A `Plan` may want the last queries alone: then (B, H, R, D).
    Runs in the precision of q, k and v, under autocast as well. Layers that are given the same `Plan` in
    place of the effect share what kernels derive from it.
    """
    plan = effect if isinstance(effect, Plan) else Plan(effect)
    needs_hidden_state(plan.effect, x)
    with without_autocast(q.device):
        if kernel == "auto":
            kernel = choose(q, plan)
        wanted = plan.first
        if kernel not in ("explicit", "fused") or torch.is_grad_enabled():  # all others compute all queries
            plan = plan.since(0)
        rows = slice(wanted - plan.first, None)
        if kernel == "reference":
            return reference(q, k, v, plan.effect, x)[:, :, rows]
        chosen = {"explicit": explicit, "fused": fused, "sdpa": sdpa, "band": band, "flex": flex}[kernel]
        return chosen.attend(q, k, v, plan, x)[:, :, rows]


def choose(q: Tensor, effect: Effect | Plan) -> str:
    """The fastest kernel for this form of effect on this device."""
    plan = effect if isinstance(effect, Plan) else Plan(effect)
    if q.is_cuda:
        return {Form.PRODUCT: "sdpa", Form.ROWS: "explicit"}.get(plan.form, "flex")
    if fused.fits(q, plan):
        return "fused"
    if 2 * plan.first >= plan.positions.length and not torch.compiler.is_compiling():
        return "explicit"
    if band.fits(plan):
        return "band"
    if torch.is_grad_enabled() or plan.form > Form.MASK:  # on a CPU, flash attention is slow backward
        return "explicit"
    if torch.compiler.is_compiling() or q.dtype != torch.bfloat16:
        return "sdpa"
    return "explicit" if bfloat16_by_onednn() else "sdpa"


def logits(
    q: Tensor,
    k: Tensor,
    effect: Effect,
    causal: bool | None = None,
    x: Tensor | None = None,
    rows: slice = slice(None),
) -> Tensor:
    """(B, H, T, T) float32: exactly what the reference kernel takes the softmax of; -inf where a key is
    hidden.

    `causal` replaces what the effect's positions say. `rows` selects queries: (B, H, R, T). The logit of a
    sink, which is no key, is left out.
    """
    if causal is not None:
        effect = replace(effect, positions=replace(effect.positions, causal=causal))
    needs_hidden_state(effect, x)
    plan, scale = Plan(effect), q.size(-1) ** -0.5
    i, j = pairs.positions(plan, rows, slice(None))
    hidden = ~pairs.seen(plan, rows, slice(None))  # (1, R, T), or (B, 1, R, T)
    with without_autocast(q.device):
        q, k = q.float(), k.float()
        near_q, near_k = plan.rotated(q, k, x)
        result = near_q[:, :, rows].float() @ near_k.float().mT * scale
        for region in effect.far:
            far_q, far_k = region.rotate(*plan.phased(q, k, x))
            product = far_q[:, :, rows].float() @ far_k.float().mT * scale
            result = torch.where((i - j >= region.start).unsqueeze(-3), product, result)
        if effect.factor is not None:
            result = result * pairs.by_pair(plan, "factor", i, j)
        if effect.bias is not None:
            result = result + pairs.by_pair(plan, "bias", i, j)
        if effect.potential is not None and x is not None:
            height = effect.potential(x)  # (B, H, T)
            result = result + height[..., rows, None] - height[..., None, :]
        result = result.masked_fill(hidden, pairs.HIDDEN)
        if effect.adjust is not None:
            result = effect.adjust.function(result, q[:, :, rows], k, i.unsqueeze(-3), j.unsqueeze(-3))
    if effect.temperature is not None:
        result = pairs.tempered(result, pairs.of_queries(effect.temperature, rows))
    return result.masked_fill(hidden, pairs.HIDDEN)


def reference(q: Tensor, k: Tensor, v: Tensor, effect: Effect, x: Tensor | None = None) -> Tensor:
    """Textbook attention in float32, all logits at once."""
    score = logits(q, k, effect, x=x)
    if effect.sink is not None:
        sink = effect.sink[:, :, None].expand(*score.shape[-3:-1], 1)  # (H, T, 1)
        score = torch.cat([score, sink.expand(q.size(0), -1, -1, -1)], dim=-1)
    weights = score.softmax(-1)[..., : k.size(-2)]
    out = weights @ v.float()
    if effect.values is not None:
        i, j = pairs.positions(Plan(effect), slice(None), slice(None))
        out = out + effect.values(weights, i.unsqueeze(-3), j.unsqueeze(-3))
    return out.to(v.dtype)


def needs_hidden_state(effect: Effect, x: Tensor | None) -> None:
    if x is None and effect.parts & {"potential", "phase"}:
        raise UsageError("This encoding reads the hidden state: pass it as x.")
