"""Pairs of a query and a key: which are seen, the bias between them, and masks of both.

Causality follows the order of tokens; all else follows their positions.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.effect import tabulated
from models.plan import Plan
from models.softmax import together

AT_A_TIME = 1 << 17  # pairs evaluated, so that intermediate results stay in the processor's cache
HIDDEN = float("-inf")


def positions(plan: Plan, rows: slice, keys: slice) -> tuple[Tensor, Tensor]:
    """Of some queries (..., R, 1) and some keys (..., 1, K)."""
    at = plan.positions.at
    return at[..., rows, None], at[..., None, keys]


def seen(plan: Plan, rows: slice, keys: slice) -> Tensor:
    """(1, R, K) or (B, 1, R, K) whether each query may see each key."""
    before = plan.index[rows, None] >= plan.index[keys]
    result = before if plan.causal else torch.ones_like(before)
    if plan.effect.visible is not None:
        result = result & plan.effect.visible(*positions(plan, rows, keys))
    return result.unsqueeze(-3)


def by_pair(plan: Plan, name: str, i: Tensor, j: Tensor) -> Tensor:
    """(1 or H, R, K) or (B, 1 or H, R, K): the effect's `bias` or `factor` at positions i and j."""
    number = plan.once(name, lambda: tabulated(getattr(plan.effect, name), plan.positions))
    value: Tensor = number(i, j).float()
    return value if value.dim() == 3 else value.transpose(0, 1)


def additive(plan: Plan, rows: slice, keys: slice, dtype: torch.dtype) -> Tensor:
    """(1 or H, R, K) or (B, 1 or H, R, K): the bias, minus infinity where a key is hidden."""
    if plan.diagonal:
        line = plan.once(("line", dtype), lambda: by_distance(plan).to(dtype))
        return toeplitz(plan, rows, keys, line).flip(-2)
    parts, count = [], max(1, AT_A_TIME // (keys.stop - keys.start) // plan.positions.at.dim())
    for start in range(rows.start, rows.stop, count):
        some = slice(start, min(start + count, rows.stop))
        hidden = ~seen(plan, some, keys)
        bias = torch.zeros(hidden.shape, device=hidden.device)
        if plan.effect.bias is not None:
            bias = by_pair(plan, "bias", *positions(plan, some, keys))
        parts.append(bias.masked_fill(hidden, HIDDEN).to(dtype))
    return together(parts)


def mask(plan: Plan, rows: slice, keys: slice, dtype: torch.dtype) -> Tensor:
    """`additive` times the temperature, its rows from last to first: a view, where possible. A sink's
    column comes before the keys."""
    temperature, sink = plan.effect.temperature, plan.effect.sink
    if plan.diagonal:
        line = plan.once(("tempered line", dtype), lambda: tempered_line(plan).to(dtype))
        result = toeplitz(plan, rows, keys, line)
    elif plan.effect.bias is not None and temperature is not None:
        result = additive(plan, rows, keys, torch.float32)
        result = tempered(result, of_queries(temperature, rows)).flip(-2).to(dtype)
    else:
        result = additive(plan, rows, keys, dtype).flip(-2)
    if sink is None:
        return result
    column = of_queries(sink.to(dtype), rows).flip(-2)  # (H, R, 1)
    result = result.expand(*result.shape[:-3], max(result.size(-3), column.size(-3)), -1, -1)
    return torch.cat([column.expand(*result.shape[:-1], 1), result], dim=-1)


def of_queries(value: Tensor, rows: slice) -> Tensor:
    """(..., R or 1, 1) of (..., T or 1): a value for each of some queries, or one for all."""
    return value[..., rows if value.size(-1) > 1 else slice(None), None]


def whole_mask(plan: Plan, dtype: torch.dtype) -> Tensor:
    """(..., 1 or H, T, T) the mask of all pairs, the first query first."""
    whole = slice(0, plan.positions.length)
    return plan.once(("mask", dtype), lambda: mask(plan, whole, whole, dtype).flip(-2))


def with_sink(plan: Plan, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """k and v (B, H, K, D) with a sink before the first: zeros, as its logit is in the mask."""
    return (k, v) if plan.effect.sink is None else (F.pad(k, (0, 0, 1, 0)), F.pad(v, (0, 0, 1, 0)))


def tempered(logits: Tensor, temperature: Tensor) -> Tensor:
    """Logits times the temperature; hidden ones stay hidden even where it is 0."""
    hidden = logits == HIDDEN
    return (logits.masked_fill(hidden, 0) * temperature).masked_fill(hidden, HIDDEN)


def toeplitz(plan: Plan, rows: slice, keys: slice, line: Tensor) -> Tensor:
    """(1 or H, R, K) a view of one line, without a look-up per pair or a copy, as long sequences need it.
    Strides are positive, so the last query comes first."""
    start = plan.positions.length - 1 - (rows.stop - 1 - keys.start)  # of the last query to the first key
    count, width = rows.stop - rows.start, keys.stop - keys.start
    return line[:, start : start + count + width - 1].unfold(-1, width, 1)


def tempered_line(plan: Plan) -> Tensor:
    """`by_distance` times a temperature that is the same for all queries."""
    line, temperature = by_distance(plan), plan.effect.temperature
    return line if plan.effect.bias is None or temperature is None else tempered(line, temperature)


def by_distance(plan: Plan) -> Tensor:
    """(1 or H, 2T - 1) the bias from the greatest distance to the smallest, minus infinity where hidden."""
    length, effect = plan.positions.length, plan.effect
    distance = torch.arange(length - 1, -length, -1, device=plan.index.device)[:, None]
    zero = torch.zeros_like(distance[:1])
    values = torch.zeros(1, 2 * length - 1, device=plan.index.device)
    if effect.bias is not None:
        values = by_pair(plan, "bias", distance, zero).squeeze(-1)
    hidden = distance < 0 if plan.causal else torch.zeros_like(distance, dtype=torch.bool)
    if effect.visible is not None:
        hidden = hidden | ~effect.visible(distance, zero)
    return values.masked_fill(hidden.squeeze(-1), HIDDEN)


def visible_keys(plan: Plan, rows: slice) -> slice:
    """The smallest range of keys that holds every key these queries can see."""
    start, visible = 0, plan.effect.visible
    if visible is not None and visible.sinks == 0 and plan.positions.consecutive:
        start = max(0, rows.start - visible.width + 1)
    return slice(start, rows.stop if plan.causal else plan.positions.length)
