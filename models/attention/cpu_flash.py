"""Flash attention in C: the fastest way on a CPU, for all effects that add to logits or multiply them.

Logits never leave the processor's cache, and what distances decide is read from one line. With gradient,
the weights are kept in the precision of v.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from models.attention import masks
from models.attention.plan import Form, Plan, cached
from models.attention.sdpa import augment_qk
from models.cpu.attention import SIDE, Network, Scores, has_loops, loops_for, read, same_dtype
from models.cpu.attention_backward import flash
from models.effect import ByDistance
from models.ops.pairwise_mlp import LEAK, AcrossHeads
from models.ops.precision import is_inspectable
from models.ops.toeplitz import Toeplitz


@dataclass(frozen=True)
class Spec:
    """A plan in the terms of the loops."""

    window: int | None
    has_mask: bool  # beyond causality and a window
    network: Network | None
    line: Tensor | None  # a bias as what it takes from each key, (1, 1 or H, T)


def spec_of(q: Tensor, plan: Plan) -> Spec | None:
    """Return a plan in the terms of the loops, with gradients if they are on; None if the loops cannot
    compute it."""
    parts, learns = plan.parts, torch.is_grad_enabled()
    line, network = (None, None) if learns else (straight_line(plan), network_of(plan))
    if network is None:
        if plan.form > Form.MASK and plan.parts & {"adjust", "values", "far", "log_decay"}:
            return None
        if learns and "score_scale" in parts and ("sink" in parts or masks.whole_factor(plan).requires_grad):
            return None
    if torch.compiler.is_compiling():
        if not (learns and q.is_cpu and has_loops(q.dtype)):
            return None
    elif not q.is_meta and loops_for(q, network) is None:
        return None
    is_masked = "score_scale" in parts or ("bias" in parts and line is None)
    is_masked = is_masked or ("visible" in parts and plan.window is None)
    reach = (plan.window or plan.positions.length) if plan.causal else None
    return Spec(reach, is_masked or (learns and "sink" in parts), network, line)


def fits(q: Tensor, plan: Plan) -> bool:
    return spec_of(q, plan) is not None


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of the queries that the plan asks for, (B, H, R, D)."""
    spec, dtype, scale, logit_scale = spec_of(q, plan), v.dtype, q.size(-1) ** -0.5, plan.effect.logit_scale
    assert spec is not None
    q, k, v = same_dtype(*plan.rotate(q, k), v)
    if q.is_meta:
        return torch.empty_like(v[:, :, plan.query_start :], dtype=dtype)
    log_decay = spec.line if plan.effect.log_decay is None else plan.effect.log_decay
    if spec.network is not None:
        q, scale = (q * scale).to(q.dtype), 1.0 if logit_scale is None else float(logit_scale)
    elif logit_scale is not None:
        q, scale = (q * (scale * logit_scale[..., None])).to(q.dtype), 1.0
    if log_decay is not None and spec.has_mask:
        (q, k), scale, log_decay = augment_qk(q * scale, k, log_decay), 1.0, None
    decay = None if log_decay is None else -log_decay.float()[:, :, None]  # (1 or B, 1 or H, 1, T)
    scores = Scores(scale, spec.window, decay, is_decay=decay is not None)
    if torch.is_grad_enabled():
        return learn(q, k, v, plan, spec, scores).to(dtype)
    return evaluate(q, k, v, plan, spec, scores).to(dtype)


def evaluate(q: Tensor, k: Tensor, v: Tensor, plan: Plan, spec: Spec, scores: Scores) -> Tensor:
    """Return the output of attention without gradient; in blocks if a mask has a number for each pair."""
    sink, decay, out = plan.effect.sink, scores.mask if scores.is_decay else None, []
    for rows, keys in masks.blocks(plan, q.size(1), spec.has_mask):
        mask = masks.compact_mask(plan, rows, keys) if spec.has_mask else None
        block = replace(
            scores,
            mask=decay[..., keys] if isinstance(decay, Tensor) else mask,
            factor=masks.compact_factor(plan, rows, keys),
            sink=None if sink is None else masks.of_queries(sink, rows),
            network=spec.network and spec.network.from_start(masks.line_start(plan, rows, keys)),
        )
        out.append(read(q[:, :, rows], k[:, :, keys], v[:, :, keys], block)[0])
    return out[0] if len(out) == 1 else torch.cat(out[::-1], dim=-2)


def learn(q: Tensor, k: Tensor, v: Tensor, plan: Plan, spec: Spec, scores: Scores) -> Tensor:
    """Return the output of all queries, with gradient."""
    window, mask = scores.window, masks.whole_mask(plan) if spec.has_mask else scores.mask
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
    values = bias.table(plan.positions)[0].double()  # (1 or H, S)
    slope = (values[:, -1:] - values[:, :1]) / (values.size(1) - 1)
    line = values[:, :1] + slope * torch.arange(values.size(1))
    return (slope * at).float()[None] if torch.allclose(line, values, rtol=1e-6, atol=1e-6) else None


def network_of(plan: Plan) -> Network | None:
    """Return the network across heads; None unless the plan has just it, a window and a bias by distance."""
    adjust, logit_scale = plan.effect.adjust, plan.effect.logit_scale
    if adjust is None or not isinstance(adjust.function, AcrossHeads) or not plan.parts <= NETWORK_PARTS:
        return None
    is_row = plan.causal and plan.positions.is_consecutive and isinstance(adjust.function.bias, ByDistance)
    if not is_row or ("visible" in plan.parts and plan.window is None):
        return None
    return whole_network(plan, adjust.function) if logit_scale is None or logit_scale.numel() == 1 else None


NETWORK_PARTS = {"adjust", "visible", "logit_scale"}


@cached
def whole_network(plan: Plan, network: AcrossHeads) -> Network:
    distance = torch.arange(plan.positions.length - 1, -2 * SIDE, -1, device=plan.index.device)
    line = network.of_distance(distance.clamp(min=0))  # keys ahead are hidden, but read
    return Network(Toeplitz(line, 0), *network.of_content(), LEAK)
