"""Our flash attention in C: the fastest way on a CPU, for all effects that add to logits or multiply them."""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from conf.errors import UsageError
from models.attention import eager as explicit
from models.attention import masks as pairs
from models.attention import underflow
from models.attention.features import as_features
from models.attention.flash import How, alike, flash, read
from models.attention.masks import BUDGET, FEWEST, ROWS
from models.attention.plan import Form, Plan
from models.cpu import loops_of
from models.cpu.attention import SIDE, Lines, Logits, Mixing, by_c
from models.effect import Curve
from models.ops.pairwise_mlp import LEAK, AcrossHeads

NEEDS = "needs a CPU, a C compiler, float32 or bfloat16, and an encoding that does not read the logits"


def suits(plan: Plan) -> bool:
    """Whether the effect does no more than add to logits and multiply them."""
    return plan.form <= Form.MASK or plan.linear


def mixing(plan: Plan) -> Mixing | None:
    """The network across heads, if that and a window are all that there is, and the bias goes by distance."""
    adjust, temperature = plan.effect.adjust, plan.effect.temperature
    if torch.is_grad_enabled() or not plan.parts <= {"adjust", "visible", "temperature"}:
        return None
    if (
        adjust is None
        or not isinstance(adjust.function, AcrossHeads)
        or not isinstance(adjust.function.bias, Curve)
    ):
        return None
    if not (plan.causal and plan.positions.consecutive) or ("visible" in plan.parts and not window(plan)):
        return None
    if temperature is not None and temperature.numel() > 1:
        return None
    return plan.once("mixing", partial(by_distance, plan, adjust.function))


def by_distance(plan: Plan, network: AcrossHeads) -> Mixing:
    distance = torch.arange(plan.positions.length - 1, -2 * SIDE, -1, device=plan.index.device)
    units = Lines(network.of_distance(distance.clamp(min=0))[None, :, None], -1)  # keys ahead are hidden
    return Mixing(units, *network.of_content(), LEAK)


def fits(q: Tensor, plan: Plan) -> bool:
    """Whether there are loops for q, which can do all that this effect does."""
    network = mixing(plan)
    if network is not None:
        return by_c(q, "attention", **network.sizes) is not None
    compiling = torch.compiler.is_compiling()
    if not suits(plan) or (compiling and not torch.is_grad_enabled()):
        return False
    if not (q.is_cpu and usable(q.dtype) if compiling else by_c(q, "attention")):
        return False
    if not torch.is_grad_enabled() or "factor" not in plan.parts:
        return True
    return "sink" not in plan.parts and not factor(plan)[0].requires_grad


@torch.compiler.assume_constant_result
def usable(dtype: torch.dtype) -> bool:
    """Whether there are loops for numbers of this type on a CPU."""
    return loops_of("attention", dtype) is not None


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan, x: Tensor | None = None) -> Tensor:
    """(B, H, R, D) of the queries that the plan wants; with gradient, of all."""
    if q.is_meta and suits(plan):
        return explicit.attend(q, k, v, plan, x)
    if not fits(q, plan):
        raise UsageError(f"The fused kernel {NEEDS}: use kernel=explicit.")
    learning, temperature, potential = torch.is_grad_enabled(), plan.effect.temperature, plan.potential(x)
    masked = adds(plan) or (learning and "sink" in plan.parts)
    scale, mask = q.size(-1) ** -0.5, None
    given = v.dtype
    q, k, v = alike(*plan.rotated(q, k, x), v)
    if (network := mixing(plan)) is not None:
        return mixed(q, k, v, plan, network).to(given)
    if temperature is not None:
        q, scale = (q * (scale * temperature[..., None])).to(q.dtype), 1.0
    if potential is not None and masked:
        (q, k), scale = as_features(q * scale, k, potential), 1.0
    elif potential is not None:
        mask = -potential.float()[:, :, None]  # (B, H, 1, T): softmax removes what all logits of a query have
    elif not learning and plan.slopes is not None and not plan.positions.consecutive:
        mask = -(plan.slopes * plan.positions.at).float()[None, :, None]  # a straight line is a potential
    if not learning:
        read_by_group = partial(evaluated, scale=scale, line=mask)
        return underflow.by_group(q, k, v, plan, scale, read_by_group).to(given)
    how, numbers = How(scale, plan.causal, window=window(plan)), None
    if "factor" in plan.parts:
        numbers, backwards = factor(plan)
        how = how._replace(backwards=backwards)
    if "sink" in plan.parts:
        (k, v), how = pairs.with_sink(plan, k, v), how._replace(before=1, window=0)
    if masked:
        mask = pairs.whole_mask(plan, torch.float32)
        mask = mask if mask.dim() == 4 else mask[None]
    out, _ = flash(q, k, v, mask, numbers, how)
    return out.to(given)


def evaluated(q: Tensor, k: Tensor, v: Tensor, plan: Plan, scale: float, line: Tensor | None) -> Tensor:
    """(B, H, R, D) without gradient; `line` (B, H, 1, T) is added to the logits of all queries."""
    whole, effect = slice(plan.first, q.size(-2)), plan.effect
    bare = plan.once("bare", lambda: Plan(replace(effect, factor=None, sink=None)))
    size = min(ROWS, max(FEWEST, BUDGET // (q.size(1) * q.size(-2))))
    out = []
    by_line = line is not None or (bare.diagonal and pairs.multiplies_by_distance(plan))
    for rows in [whole] if by_line else reversed(pairs.parted(whole, size)):
        keys = pairs.visible_keys(plan, rows)
        logits = Logits(scale, plan.causal, rows.start - keys.start, window(plan))
        if line is not None:
            logits = replace(logits, mask=Lines.of(line[..., keys]), potential=True)
        elif adds(plan):
            mask = pairs.mask(bare, rows, keys, torch.float32)
            logits = replace(logits, mask=Lines.of(mask, backwards=bare.diagonal))
        if effect.factor is not None:
            logits = replace(logits, factor=Lines.of(*pairs.factor(plan, rows, keys)))
        if effect.sink is not None:
            column = pairs.of_queries(effect.sink, rows).expand(-1, rows.stop - rows.start, 1)
            logits = replace(logits, sink=Lines.of(column))
        out.append(read(q[:, :, rows], k[:, :, keys], v[:, :, keys], logits))
    return out[0] if len(out) == 1 else torch.cat(out[::-1], dim=-2)


def mixed(q: Tensor, k: Tensor, v: Tensor, plan: Plan, network: Mixing) -> Tensor:
    """(B, H, R, D) by logits that a network reads from all heads at once, without gradient."""
    rows, temperature = slice(plan.first, q.size(-2)), plan.effect.temperature
    keys = pairs.visible_keys(plan, rows)
    first = plan.positions.length - 1 - (rows.start - keys.start)  # of the first query to the first key
    network = replace(network, units=replace(network.units, numbers=network.units.numbers[..., first:]))
    scale = 1.0 if temperature is None else float(temperature)
    logits = Logits(scale, plan.causal, rows.start - keys.start, window(plan), network=network)
    q = (q * q.size(-1) ** -0.5).to(q.dtype)
    return read(q[:, :, rows], k[:, :, keys], v[:, :, keys], logits)


def adds(plan: Plan) -> bool:
    """Whether there is a mask, beyond that of causality and of a window."""
    return bool(plan.parts & {"bias", "factor"}) or ("visible" in plan.parts and not window(plan))


def factor(plan: Plan) -> tuple[Tensor, bool]:
    whole = slice(0, plan.positions.length)
    return plan.once("all factors", lambda: pairs.factor(plan, whole, whole))


def window(plan: Plan) -> int:
    """How many of the last keys a query sees at the most; 0: all."""
    visible = plan.effect.visible
    if visible is None or visible.sinks or not (plan.causal and plan.positions.consecutive):
        return 0
    return visible.width
