"""Flash attention in C: the fastest way on a CPU, for all effects that add to logits or multiply them.

Logits never leave the processor's cache, and what distances decide is read from one line. With gradient,
the weights are kept in the precision of v.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.library import custom_op

from models.attention import masks
from models.attention.plan import Plan, cached
from models.attention.sdpa import augment_qk
from models.cpu import Loops, dense, loops, loops_of
from models.effect import Curve
from models.ops.first_order import first_order
from models.ops.pairwise_mlp import LEAK, AcrossHeads
from models.ops.precision import inspectable
from models.ops.processor import bfloat16_by

SIDE = 32  # rows and columns that the loops multiply at once


class Toeplitz(NamedTuple):
    """A number for each pair that its distance alone decides."""

    line: Tensor  # (1 or H, N) float32, from the greatest distance to the smallest
    start: int  # where it has that of the first query to the first key


Pairs = Tensor | Toeplitz


@dataclass(frozen=True)
class Network:
    """A network of leaky units that reads the logits of all heads, and adds to them."""

    by_distance: Toeplitz  # (hidden + H, N) what distances give to each unit, and then to each head
    to_units: Tensor  # (hidden, H)
    from_units: Tensor  # (hidden, H)


@dataclass(frozen=True)
class Scores:
    """What becomes of a product: scale * factor * product + mask, or what a network makes of it."""

    scale: float
    window: int | None  # how many of the keys up to its own a query sees; None: all keys, those ahead as well
    mask: Pairs | None = None  # (1 or B, 1 or H, R, K) float32
    factor: Pairs | None = None  # never without a mask
    is_decay: bool = (
        False  # the mask (1 or B, 1 or H, 1, K) is what keys lose: less what a query's own key loses
    )
    sink: Tensor | None = None  # (1 or H, 1 or R, 1), the logit of what reads nothing
    network: Network | None = None


@dataclass(frozen=True)
class Spec:
    """How the loops carry out a plan."""

    window: int | None
    has_mask: bool  # beyond causality and a window
    network: Network | None
    line: Tensor | None  # a bias as what it takes from each key, (1, 1 or H, T)


def spec(q: Tensor, plan: Plan) -> Spec | None:
    """Return how the loops carry out a plan, with gradient if gradients are on; None where they cannot."""
    parts, learns = plan.parts, torch.is_grad_enabled()
    network = None if learns else network_of(plan)
    if network is None:
        if parts & {"adjust", "values", "far"} or (
            "potential" in parts and parts & {"factor", "temperature"}
        ):
            return None
        if learns and "factor" in parts and ("sink" in parts or whole_factor(plan).requires_grad):
            return None
    if torch.compiler.is_compiling():
        if not (learns and q.is_cpu and has_loops(q.dtype)):
            return None
    elif not q.is_meta and loops_for(q, network) is None:
        return None
    line = None if learns else straight_line(plan)
    is_masked = "factor" in parts or ("bias" in parts and line is None)
    is_masked = is_masked or ("visible" in parts and plan.window is None)
    reach = (plan.window or plan.positions.length) if plan.causal else None
    return Spec(reach, is_masked or (learns and "sink" in parts), network, line)


def fits(q: Tensor, plan: Plan) -> bool:
    return spec(q, plan) is not None


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan, x: Tensor | None = None) -> Tensor:
    """Return what the queries that the plan wants read, (B, H, R, D)."""
    how, dtype, scale, temperature = spec(q, plan), v.dtype, q.size(-1) ** -0.5, plan.effect.temperature
    assert how is not None
    q, k, v = alike(*plan.rotate(q, k, x), v)
    if q.is_meta:
        return torch.empty_like(v[:, :, plan.query_start :], dtype=dtype)
    log_decay = how.line if plan.effect.potential is None else plan.potential(x)
    if how.network is not None:
        q, scale = (q * scale).to(q.dtype), 1.0 if temperature is None else float(temperature)
    elif temperature is not None:
        q, scale = (q * (scale * temperature[..., None])).to(q.dtype), 1.0
    if log_decay is not None and how.has_mask:
        (q, k), scale, log_decay = augment_qk(q * scale, k, log_decay), 1.0, None
    decay = None if log_decay is None else -log_decay.float()[:, :, None]  # (1 or B, 1 or H, 1, T)
    scores = Scores(scale, how.window, decay, is_decay=decay is not None)
    if torch.is_grad_enabled():
        return learn(q, k, v, plan, how, scores).to(dtype)
    return evaluate(q, k, v, plan, how, scores).to(dtype)


def evaluate(q: Tensor, k: Tensor, v: Tensor, plan: Plan, how: Spec, scores: Scores) -> Tensor:
    """Return what queries read, without gradient; in blocks where a mask has a number for each pair."""
    length, sink, out = plan.positions.length, plan.effect.sink, []
    is_line = not how.has_mask or (plan.is_toeplitz and has_factor_line(plan))
    size = length if is_line else min(masks.ROWS, max(masks.FEWEST, masks.BUDGET // (q.size(1) * length)))
    for rows in reversed(masks.split(slice(plan.query_start, length), size)):
        keys = masks.visible_keys(plan, rows)
        block = replace(
            scores,
            mask=mask_of(plan, how, scores.mask, rows, keys),
            factor=None if plan.effect.factor is None else factor_of(plan, rows, keys),
            sink=None if sink is None else masks.of_queries(sink, rows),
            network=None if how.network is None else from_distance(how.network, plan, rows, keys),
        )
        out.append(read(q[:, :, rows], k[:, :, keys], v[:, :, keys], block)[0])
    return out[0] if len(out) == 1 else torch.cat(out[::-1], dim=-2)


def learn(q: Tensor, k: Tensor, v: Tensor, plan: Plan, how: Spec, scores: Scores) -> Tensor:
    """Return what all queries read, with gradient."""
    mask, window = scores.mask, scores.window
    factor = None if plan.effect.factor is None else whole_factor(plan)
    if how.has_mask:
        mask = masks.whole_mask(plan)
        mask = mask if mask.dim() == 4 else mask[None]
    if plan.effect.sink is not None:
        (k, v), window = masks.with_sink(plan, k, v), window and k.size(-2) + 1
    out: Tensor = flash(q, k, v, mask, factor, scores.scale, window, scores.is_decay)[0]
    return out


def mask_of(plan: Plan, how: Spec, decay: Pairs | None, rows: slice, keys: slice) -> Pairs | None:
    if isinstance(decay, Tensor):
        return decay[..., keys]
    if not how.has_mask:
        return None
    if not plan.is_toeplitz:
        return masks.tempered_bias(plan, rows, keys)
    return Toeplitz(masks.tempered_line(plan), masks.line_start(plan, rows, keys))


def has_factor_line(plan: Plan) -> bool:
    """Whether the factor is constant along each diagonal."""
    return isinstance(plan.effect.factor, Curve | None) and plan.positions.consecutive


def factor_of(plan: Plan, rows: slice, keys: slice) -> Pairs:
    if not has_factor_line(plan):
        return masks.by_pair(plan, "factor", *masks.positions(plan, rows, keys))
    return Toeplitz(masks.factor_line(plan), masks.line_start(plan, rows, keys))


@cached
def whole_factor(plan: Plan) -> Tensor:
    """Return the factor of all pairs, (1 or B, 1 or H, T, T)."""
    whole = slice(0, plan.positions.length)
    value = masks.by_pair(plan, "factor", *masks.positions(plan, whole, whole))
    return value if value.dim() == 4 else value[None]


@cached
def straight_line(plan: Plan) -> Tensor | None:
    """Return a bias that is a straight line as what it takes from each key, (1, 1 or H, T).

    Where positions are not consecutive, this spares a look-up for each pair.
    """
    bias, at = plan.effect.bias, plan.positions.at
    if plan.parts != {"bias"} or not isinstance(bias, Curve) or not plan.causal:
        return None
    if plan.positions.consecutive or not plan.positions.whole or at.dim() > 1 or not inspectable(at):
        return None
    values = bias.table(plan.positions)[0].double()  # (1 or H, S)
    slope = (values[:, -1:] - values[:, :1]) / (values.size(1) - 1)
    line = values[:, :1] + slope * torch.arange(values.size(1))
    return (slope * at).float()[None] if torch.allclose(line, values, rtol=1e-6, atol=1e-6) else None


def network_of(plan: Plan) -> Network | None:
    """Return the network across heads if it and a window are all, and its bias goes by distance."""
    adjust, temperature = plan.effect.adjust, plan.effect.temperature
    if adjust is None or not isinstance(adjust.function, AcrossHeads) or not plan.parts <= NETWORK_PARTS:
        return None
    is_row = plan.causal and plan.positions.consecutive and isinstance(adjust.function.bias, Curve)
    if not is_row or ("visible" in plan.parts and plan.window is None):
        return None
    return whole_network(plan, adjust.function) if temperature is None or temperature.numel() == 1 else None


NETWORK_PARTS = {"adjust", "visible", "temperature"}


@cached
def whole_network(plan: Plan, network: AcrossHeads) -> Network:
    distance = torch.arange(plan.positions.length - 1, -2 * SIDE, -1, device=plan.index.device)
    line = network.of_distance(distance.clamp(min=0))  # keys ahead are hidden, but read
    return Network(Toeplitz(line, 0), *network.of_content())


def from_distance(network: Network, plan: Plan, rows: slice, keys: slice) -> Network:
    line = network.by_distance.line
    return replace(network, by_distance=Toeplitz(line, masks.line_start(plan, rows, keys)))


def alike(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return all three as numbers of one type, as the loops read them."""
    return (q, k, v) if q.dtype == k.dtype == v.dtype else (q.float(), k.float(), v.float())


# ---- the loops, which may be called under a compiler with gradient alone


def loops_for(x: Tensor, network: Network | None = None, file: str = "attention") -> Loops | None:
    """Return the loops that multiply numbers of this type the fastest, if there are any."""
    sizes = {}
    if network is not None:
        sizes = {"heads": network.to_units.size(1), "hidden": network.to_units.size(0)}
    ways = [{way: 1} for way in bfloat16_by()] if x.dtype == torch.bfloat16 else []
    candidates = (loops(file, x, **sizes, **way) for way in (*ways, {}))
    return next((found for found in candidates if found is not None), None)


@torch.compiler.assume_constant_result
def has_loops(dtype: torch.dtype) -> bool:
    return loops_of("attention", dtype) is not None


def read(q: Tensor, k: Tensor, v: Tensor, scores: Scores) -> tuple[Tensor, Tensor]:
    """Return what queries read (B, H, R, D), and the log of the sum of weights (B, H, R), float32."""
    q, k, v = (dense(x) for x in (q, k, v))
    out, lse = empty_by_token(q, v.size(-1)), q.new_empty(q.shape[:-1], dtype=torch.float32)
    run("attention", Params(scores, q=q, k=k, v=v, out=out, lse=lse), v, scores.network)
    return out, lse


@custom_op("yardstick::flash", mutates_args=())
def flash(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    factor: Tensor | None,
    scale: float,
    window: int | None,
    is_decay: bool,
) -> tuple[Tensor, Tensor]:
    """Return what queries read (B, H, T, D), and the weights; with gradient, but for the factor."""
    q, k, v = (dense(x) for x in (q, k, v))
    out, probs = empty_outputs(q, k, v)
    scores = Scores(scale, window, mask, factor, is_decay)
    run("attention", Params(scores, q=q, k=k, v=v, out=out, probs=probs), v)
    return out, probs


@flash.register_fake
def empty_outputs(q: Tensor, k: Tensor, v: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    return empty_by_token(q, v.size(-1)), q.new_empty(*q.shape[:-1], -(-k.size(-2) // SIDE) * SIDE)


@custom_op("yardstick::flash_backward", mutates_args=())
def flash_backward(
    gradient: Tensor,
    saved: Sequence[Tensor],
    factor: Tensor | None,
    scale: float,
    window: int | None,
    mask_shape: Sequence[int],
) -> list[Tensor]:
    """Return the gradients of q, k, v and, unless its shape is empty, of a mask."""
    *qkv, probs = saved
    q, k, v, g = (dense(x) for x in (*qkv, gradient))
    to_q, to_k, to_v, *to_mask = result = empty_gradients(gradient, saved, factor, scale, window, mask_shape)
    tensors = {
        "q": q,
        "k": k,
        "v": v,
        "probs": probs,
        "gradient": g,
        "to_q": to_q,
        "to_k": to_k,
        "to_v": to_v,
    }
    params = Params(Scores(scale, window, factor=factor), **tensors)
    for x in to_mask:
        params.to_mask = StridedTensor.of(x.zero_().expand(*q.shape[:3], -1))
    run("attention_backward", params, v)
    return result


@flash_backward.register_fake
def empty_gradients(
    gradient: Tensor,
    saved: Sequence[Tensor],
    factor: Tensor | None,
    scale: float,
    window: int | None,
    mask_shape: Sequence[int],
) -> list[Tensor]:
    heads = saved[0].size(1)
    mask = (
        [gradient.new_empty([mask_shape[0], heads, *mask_shape[2:]], dtype=torch.float32)]
        if mask_shape
        else []
    )
    return [*(empty_like(x) for x in saved[:3]), *mask]


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *qkv, mask, ctx.factor, ctx.scale, ctx.window, _ = inputs
    ctx.mask_shape = list(mask.shape) if ctx.needs_input_grad[3] else []
    ctx.save_for_backward(*qkv, output[1])


@first_order
def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    saved = list(ctx.saved_tensors)
    to_q, to_k, to_v, *masks = flash_backward(
        gradient, saved, ctx.factor, ctx.scale, ctx.window, ctx.mask_shape
    )
    to_mask = masks[0].sum_to_size(ctx.mask_shape) if masks else None
    return to_q, to_k, to_v, to_mask, None, None, None, None


flash.register_autograd(backward, setup_context=setup_context)


def empty_like(x: Tensor) -> Tensor:
    """Allocate as many numbers in the same order, tokens or heads first; those of x may overlap."""
    return empty_by_token(x, x.size(-1)) if x.stride(1) < x.stride(2) else x.new_empty(x.shape)


def empty_by_token(q: Tensor, width: int) -> Tensor:
    """Allocate (B, H, R, D) whose heads lie side by side, as the layer after attention reads them."""
    return q.new_empty(q.size(0), q.size(2), q.size(1), width).transpose(1, 2)


class StridedTensor(ctypes.Structure):
    """Where a tensor (B, H, N, ...) lies: its first number, and strides of sequences, heads and tokens."""

    _fields_ = (("at", ctypes.c_void_p), ("strides", ctypes.c_int64 * 3))

    @classmethod
    def of(cls, x: Tensor) -> "StridedTensor":
        return cls(x.data_ptr(), x.stride()[:3])


class Params(ctypes.Structure):
    """`Params` of cpu/attention.h, and what keeps its tensors alive."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("sequences", "heads", "queries", "keys", "inner", "width")),
        *((name, ctypes.c_int64) for name in ("before", "causal", "window", "parts", "is_decay")),
        *(
            (name, StridedTensor)
            for name in ("q", "k", "v", "out", "probs", "gradient", "to_q", "to_k", "to_v")
        ),
        *((name, StridedTensor) for name in ("factor", "mask", "sink", "to_mask", "lse", "units")),
        *((name, ctypes.c_void_p) for name in ("to_units", "from_units")),
        *((name, ctypes.c_float) for name in ("scale", "leak")),
    )

    def __init__(self, scores: Scores, **tensors: Tensor) -> None:
        q, k, v = (tensors[name] for name in "qkv")
        (sequences, heads, queries, inner), keys, network = q.shape, k.size(-2), scores.network
        parallel = sequences if network else sequences * heads  # what threads share out
        parts = -(-torch.get_num_threads() // max(1, parallel))
        window = scores.window if scores.window is not None and scores.window < keys else 0
        sizes = sequences, heads, queries, keys, inner, v.size(-1), keys - queries
        super().__init__(
            *sizes, scores.window is not None, window, parts, scores.is_decay, scale=scores.scale
        )
        self.tensors: list[object] = [tensors, scores]
        for name, x in tensors.items():
            setattr(self, name, StridedTensor.of(x))
        for name in ("factor", "mask", "sink"):
            if (number := getattr(scores, name)) is not None:
                setattr(self, name, self.strided(number, sequences, heads))
        if network is not None:
            self.units, self.leak = self.strided(network.by_distance, 1, -1), LEAK
            self.to_units, self.from_units = network.to_units.data_ptr(), network.from_units.data_ptr()

    def strided(self, x: Pairs, sequences: int, heads: int) -> StridedTensor:
        """Return where a number for each pair lies, or for each query, or key."""
        if isinstance(x, Toeplitz):
            line = dense(x.line.float())
            self.tensors.append(line)
            return StridedTensor(line[:, x.start :].data_ptr(), (0, line.expand(heads, -1).stride(0), -1))
        x = dense((x if x.dim() == 4 else x[None]).float())
        self.tensors.append(x)
        of_b, of_h, *_ = x.expand(sequences, heads, -1, -1).stride()
        return StridedTensor(x.data_ptr(), (of_b, of_h, x.stride(-2) if x.size(-2) > 1 else 0))


def run(name: str, params: Params, x: Tensor, network: Network | None = None) -> None:
    functions = loops_for(x, network, name)
    assert functions is not None
    functions(name, params)
