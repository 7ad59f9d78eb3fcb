"""FlexAttention: the kernel looks up the bias itself, and skips hidden blocks.

Sequences are padded to a multiple of 128 tokens, below which its gradients are NaN.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, flex_attention

from models.attention import masks
from models.attention.block_masks import block_mask, pad, repeat_last
from models.attention.plan import Form, Plan, cached
from models.distance import ByDistance
from models.effect import Effect

LENGTHS = 64  # for which a form of effects is compiled, at most


def refusal(q: Tensor, plan: Plan) -> str | None:
    if plan.form == Form.FULL_SCORES:
        return "the encoding reads whole rows of logits or weights"
    return None if plan.positions.is_sorted else "positions do not increase along the sequence"


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of all queries, (B, H, T, D)."""
    scale, sink, log_decay = q.size(-1) ** -0.5, plan.effect.sink, plan.effect.log_decay
    length, dtype, table = q.size(-2), v.dtype, learned_table(q, plan)
    if table is not None:
        plan = plan.with_bias(table.detach())
    q, k, v = (pad_parts(t, length) for t in rotate_in_regions(q, k, v, plan.effect))
    seen = whole_block_mask(plan)
    if q.is_meta and not q.is_cuda:  # FlexAttention refuses that device
        return torch.empty_like(v[..., :length, :])
    wanted = None if sink is None and table is None else AuxRequest(lse=True)
    form = tuple(sorted(plan.parts)), torch.is_grad_enabled()
    run: Any = compiled_flex(form) if is_compiled(q) else flex_attention  # a compiled block traces it
    score, is_grouped = score_of(plan, log_decay), q.size(1) > k.size(1)
    v = v.to(q.dtype)
    out = run(q, k, v, score, seen, scale=scale, return_aux=wanted, enable_gqa=is_grouped)
    if table is not None:
        from models.attention.table_gradient import TableGradient  # needs Triton, as FlexAttention on a GPU

        out = TableGradient.apply(out[0], table, q, k, v, out[1].lse)
    if sink is not None:  # takes its share of the weights
        lse = out[1].lse[..., :length]
        return cast(Tensor, (out[0][..., :length, :] * (lse - sink).sigmoid()[..., None]).to(dtype))
    return cast(Tensor, out[..., :length, :].to(dtype))


def learned_table(q: Tensor, plan: Plan) -> Tensor | None:
    """Return the bias of all distances (1 or H, N), if `TableGradient` can compute its gradient."""
    number, is_alone = plan.effect.bias, plan.parts == {"bias"}
    if not (has_triton(q) and is_alone and isinstance(number, ByDistance) and torch.is_grad_enabled()):
        return None
    if not (plan.causal and plan.positions.is_consecutive) or q.size(-1).bit_count() > 1 or q.size(-1) < 16:
        return None
    table = number.function(torch.arange(plan.positions.span + pad(plan.positions.length), device=q.device))
    return table if table.requires_grad else None


def has_triton(q: Tensor) -> bool:
    return q.is_cuda


def pad_parts(x: Tensor, length: int) -> Tensor:
    """Return (B, H, T, D), or several copies of it in a row, each padded to a multiple of 128 tokens."""
    if pad(length) == 0:
        return x
    return F.pad(x.unflatten(-2, (-1, length)), (0, 0, 0, pad(length))).flatten(-3, -2)


@cached
def padded_positions(plan: Plan) -> Tensor:
    """Return the positions (T,) or (B, T), the last one repeated up to a multiple of 128 tokens."""
    return repeat_last(plan.positions.at, pad(plan.positions.length))


def whole_block_mask(plan: Plan) -> BlockMask:
    """Return the mask of all pairs, made once for all layers that show the same keys."""
    key = "block mask", plan.effect.visible, plan.effect.regions, id(plan.positions.at)
    if key not in plan.of_pass:
        plan.of_pass[key] = block_mask(plan, padded_positions(plan), mask_of(plan))
    return cast(BlockMask, plan.of_pass[key])


def is_compiled(q: Tensor) -> bool:
    """Return whether FlexAttention is compiled by itself; on a CPU it computes T x T, as a reference."""
    return q.is_cuda and not torch.compiler.is_compiling()


@cache
def compiled_flex(form: object) -> Callable:
    """Return FlexAttention compiled for one form of effects, once for each length.

    Lengths are constants in the kernel, so that blocks of whole tiles need no bounds. Past the limit PyTorch
    would compute T x T without a word; `fullgraph` makes that an error.
    """
    options: dict[str, Any] = {"isolate_recompiles": True, "recompile_limit": LENGTHS}
    return torch.compile(flex_attention, dynamic=False, fullgraph=True, **options)


def rotate_in_regions(q: Tensor, k: Tensor, v: Tensor, effect: Effect) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k, v with the rotations applied.

    With far regions every key appears once per rotation, each copy in a part of its own of a head that is
    as much wider: (q, q') . (k, 0) = q.k and (q, q') . (0, k') = q'.k'. `mask_of` then shows each query
    one copy of every key.
    """
    rotated = [effect.rotate(q, k) if effect.rotate else (q, k)]
    if effect.regions is None:
        return *rotated[0], v
    rotated += [rotate(q, k) for rotate in effect.regions.rotations]
    keys, before, width = [], 0, sum(k.size(-1) for _, k in rotated)
    for _, k in rotated:
        keys.append(F.pad(k, (before, width - before - k.size(-1))))
        before += k.size(-1)
    return torch.cat([q for q, _ in rotated], -1), torch.cat(keys, -2), torch.cat([v] * len(rotated), -2)


def positions_of(plan: Plan) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function that gives the position of a token, by its sequence and its index."""
    at = padded_positions(plan)
    return (lambda b, index: at[index]) if at.dim() == 1 else (lambda b, index: at[b, index])


def mask_of(plan: Plan) -> Callable:
    """Return FlexAttention's mask: whether a query sees a key, by their indices in q and k."""
    effect, length, at = plan.effect, plan.positions.length, positions_of(plan)
    whole = length + pad(length)

    def mask_mod(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        key = j % whole
        q_at, k_at = at(b, i), at(b, key)
        result = i >= key if plan.causal else key < length
        if effect.regions is not None:
            result = result & (effect.regions(q_at, k_at) == j // whole)
        if effect.visible is not None:
            result = result & effect.visible(q_at, k_at)
        return result

    return mask_mod


def score_of(plan: Plan, log_decay: Tensor | None) -> Callable | None:
    """Return FlexAttention's score: score_scale, bias, log_decay and logit_scale of one pair."""
    length, logit_scale = plan.positions.length, plan.effect.logit_scale
    extra = pad(length)
    whole = length + extra
    if logit_scale is not None:
        logit_scale = repeat_last(logit_scale.expand(*logit_scale.shape[:-1], length), extra)
        logit_scale = logit_scale.expand(1, *logit_scale.shape) if logit_scale.dim() == 2 else logit_scale
    decay_i = decay_j = log_decay
    if log_decay is not None:  # two tensors: a compiled score may read one with a gradient once
        decay_i, decay_j = repeat_last(log_decay, extra), repeat_last(log_decay, extra).clone()
    factor, bias = (pair_of(plan, name) for name in ("score_scale", "bias"))
    if factor is bias is log_decay is logit_scale is None:
        return None

    def score_mod(value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        key = j % whole
        if factor is not None:
            value = value * factor(b, h, i, key)
        if bias is not None:
            value = value + bias(b, h, i, key)
        if decay_i is not None and decay_j is not None:
            value = value + decay_i[b, h, i] - decay_j[b, h, key]
        if logit_scale is not None:
            scale = logit_scale[b % logit_scale.size(0), h % logit_scale.size(1), i]
            value = masks.scale_visible(value, scale)
        return value

    return score_mod


def pair_of(plan: Plan, name: str) -> Callable | None:
    """Return the `bias` or `score_scale` of the effect for a pair."""
    number, at = getattr(plan.effect, name), padded_positions(plan)
    if number is None:
        return None
    where = positions_of(plan)
    if isinstance(number, ByDistance) and number.of_head is not None and not learns(number.of_head, at):
        of_head = number.of_head
        return lambda b, h, i, j: of_head(h, where(b, i) - where(b, j))
    if isinstance(number, ByDistance) and plan.positions.distances is not None:
        values, first = number.function(plan.positions.distances), plan.positions.first_distance
        heads, last = values.size(0), values.size(1) - 1
        return lambda b, h, i, j: values[h % heads, (where(b, i) - where(b, j) - first).clamp(0, last)]
    dense = masks.by_pair(plan, name, at[..., :, None], at[..., None, :])  # (H, T, T), or (B, H, T, T)
    dense = dense if dense.dim() == 4 else dense[None]
    return lambda b, h, i, j: dense[b % dense.size(0), h % dense.size(1), i, j]


def learns(of_head: Callable[[Tensor, Tensor], Tensor], at: Tensor) -> bool:
    """Return whether a number by head and distance has a gradient: each pair would add to the same few
    parameters, where a table spreads the sums over all distances."""
    nothing = torch.zeros(1, dtype=torch.long, device=at.device)
    return of_head(nothing, nothing).requires_grad
