"""Pairs of a query and a key: which are seen, the bias between them, and masks of both.

Causality follows the order of tokens; all else follows their positions.
"""

from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention.plan import Plan
from models.effect import Curve, tabulated
from models.ops.relu_network import Surface

TILE = 128, 512  # queries and keys evaluated at a time: intermediate results stay in the processor's cache
ROWS, FEWEST = 1024, 128  # queries of a block, so that a mask is never T x T
BUDGET = 1 << 24  # pairs in a mask that has a number for each
HIDDEN = float("-inf")


def positions(plan: Plan, rows: slice, keys: slice) -> tuple[Tensor, Tensor]:
    """Of some queries (..., R, 1) and some keys (..., 1, K)."""
    at = plan.positions.at
    return at[..., rows, None], at[..., None, keys]


def parted(whole: slice, most: int) -> list[slice]:
    """A slice in slices of at most `most`."""
    return [slice(start, min(start + most, whole.stop)) for start in range(whole.start, whole.stop, most)]


def moved(some: slice, by: int) -> slice:
    return slice(some.start + by, some.stop + by)


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
        line = plan.once(("line", dtype), lambda: additive_line(plan).to(dtype))
        return toeplitz(plan, rows, keys, line).contiguous().flip(-2)
    if torch.is_grad_enabled():  # autograd keeps every intermediate result in any case
        return by_tile(plan, rows, keys).to(dtype)
    if isinstance(plan.effect.bias, Surface):
        return hide(plan, by_pair(plan, "bias", *positions(plan, rows, keys)), rows, keys).to(dtype)
    result: Tensor | None = None
    for some, columns in product(parted(rows, TILE[0]), parted(keys, TILE[1])):
        values = by_tile(plan, some, columns)
        if result is None:
            shape = *values.shape[:-2], rows.stop - rows.start, keys.stop - keys.start
            result = torch.empty(shape, dtype=dtype, device=values.device)
        result[..., moved(some, -rows.start), moved(columns, -keys.start)] = values
    assert result is not None
    return result


def added(plan: Plan, logits: Tensor, rows: slice, keys: slice, factor: Tensor | None = None) -> Tensor:
    """logits (B, H, R, K), times `factor`, plus `additive`; in place without gradient, and without a bias
    where keys come after queries alone."""
    effect = plan.effect
    if torch.is_grad_enabled():
        return (logits if factor is None else logits * factor) + additive(plan, rows, keys, logits.dtype)
    if effect.bias is not None or effect.visible is not None or not plan.causal:
        bias = additive(plan, rows, keys, logits.dtype)
        return logits.add_(bias) if factor is None else torch.addcmul(bias, logits, factor, out=logits)
    return hide(plan, logits if factor is None else logits.mul_(factor), rows, keys)


def hide(plan: Plan, numbers: Tensor, rows: slice, keys: slice) -> Tensor:
    """Minus infinity, in place, where a key is hidden; all that any of these queries sees is left alone."""
    first = rows.start + 1 - keys.start if plan.causal and plan.effect.visible is None else 0
    rest = slice(keys.start + max(0, first), keys.stop)
    numbers[..., max(0, first) :].masked_fill_(~seen(plan, rows, rest), HIDDEN)
    return numbers


def by_tile(plan: Plan, rows: slice, keys: slice) -> Tensor:
    """`additive` in float32, each pair by itself."""
    if plan.effect.bias is None:
        hidden = ~seen(plan, rows, keys)
        return torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, HIDDEN)
    bias = by_pair(plan, "bias", *positions(plan, rows, keys))
    all_seen = plan.causal and plan.effect.visible is None and keys.stop <= rows.start + 1
    return bias if all_seen else bias.masked_fill(~seen(plan, rows, keys), HIDDEN)


def mask(plan: Plan, rows: slice, keys: slice, dtype: torch.dtype) -> Tensor:
    """`additive` times the temperature: a view, where possible, and with its rows from last to first where
    `plan.diagonal`. A sink's column comes before the keys."""
    temperature, sink = plan.effect.temperature, plan.effect.sink
    if plan.diagonal:
        line = plan.once(("tempered line", dtype), lambda: tempered_line(plan).to(dtype))
        result = toeplitz(plan, rows, keys, line)
    elif plan.effect.bias is not None and temperature is not None:
        result = additive(plan, rows, keys, torch.float32)
        result = tempered(result, of_queries(temperature, rows)).to(dtype)
    else:
        result = additive(plan, rows, keys, dtype)
    if sink is None:
        return result
    column = ordered(plan, of_queries(sink.to(dtype), rows))  # (H, R, 1)
    result = result.expand(*result.shape[:-3], max(result.size(-3), column.size(-3)), -1, -1)
    return torch.cat([column.expand(*result.shape[:-1], 1), result], dim=-1)


def factor(plan: Plan, rows: slice, keys: slice) -> tuple[Tensor, bool]:
    """(..., 1 or H, R, K) what multiplies each logit: if the second is true a view with its rows from last
    to first."""
    if not multiplies_by_distance(plan):
        return by_pair(plan, "factor", *positions(plan, rows, keys)), False
    return toeplitz(plan, rows, keys, plan.once("factors", lambda: by_distance(plan, "factor"))), True


def multiplies_by_distance(plan: Plan) -> bool:
    """Whether the factor is constant along each diagonal."""
    return isinstance(plan.effect.factor, Curve | None) and plan.positions.consecutive


def ordered(plan: Plan, x: Tensor) -> Tensor:
    """x (..., R, D) in the order of a mask's rows, or back from it."""
    return x.flip(-2) if plan.diagonal else x


def of_queries(value: Tensor, rows: slice) -> Tensor:
    """(..., R or 1, 1) of (..., T or 1): a value for each of some queries, or one for all."""
    return value[..., rows if value.size(-1) > 1 else slice(None), None]


def whole_mask(plan: Plan, dtype: torch.dtype) -> Tensor:
    """(..., 1 or H, T, T) the mask of all pairs, the first query first."""
    whole = slice(0, plan.positions.length)
    return plan.once(("mask", dtype), lambda: ordered(plan, mask(plan, whole, whole, dtype)))


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
    """`additive_line` times a temperature that is the same for all queries."""
    line, temperature = additive_line(plan), plan.effect.temperature
    return line if plan.effect.bias is None or temperature is None else tempered(line, temperature)


def additive_line(plan: Plan) -> Tensor:
    """(1 or H, 2T - 1) the bias from the greatest distance to the smallest, minus infinity where hidden."""
    distance, zero, effect = *distances(plan), plan.effect
    values = torch.zeros_like(distance, dtype=torch.float32).mT
    if effect.bias is not None:
        values = by_distance(plan, "bias")
    hidden = distance < 0 if plan.causal else torch.zeros_like(distance, dtype=torch.bool)
    if effect.visible is not None:
        hidden = hidden | ~effect.visible(distance, zero)
    return values.masked_fill(hidden.squeeze(-1), HIDDEN)


def by_distance(plan: Plan, name: str) -> Tensor:
    """(1 or H, 2T - 1) the effect's `bias` or `factor` from the greatest distance to the smallest."""
    return by_pair(plan, name, *distances(plan)).squeeze(-1)


def distances(plan: Plan) -> tuple[Tensor, Tensor]:
    """(2T - 1, 1) and (1, 1): positions whose differences are all distances, from the greatest on."""
    length = plan.positions.length
    distance = torch.arange(length - 1, -length, -1, device=plan.index.device)[:, None]
    return distance, torch.zeros_like(distance[:1])


def ends(plan: Plan, rows: slice, keys: slice) -> Tensor:
    """(R,) how many of some keys lie before the first that comes after each query, if those are hidden."""
    return plan.index[rows] + 1 - keys.start if plan.causal else plan.index[rows] * 0 + keys.stop - keys.start


def visible_keys(plan: Plan, rows: slice) -> slice:
    """The smallest range of keys that holds every key these queries can see."""
    start, visible = 0, plan.effect.visible
    if visible is not None and visible.sinks == 0 and plan.positions.consecutive:
        start = max(0, rows.start - visible.width + 1)
    return slice(start, rows.stop if plan.causal else plan.positions.length)
