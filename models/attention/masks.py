"""Pairs of a query and a key: which are visible, the bias between them, and masks of both.

Causality follows the order of tokens; all else follows their positions.
"""

from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention.plan import Plan, cached
from models.distance import ByDistance, ByPair, Toeplitz, tabulate

TILE = 128, 512  # queries and keys evaluated at a time: intermediate results stay in the processor's cache
ROWS, FEWEST = 1024, 128  # queries of a block, so that a mask is never T x T
BUDGET = 1 << 24  # pairs in a mask that has a number for each
HIDDEN = float("-inf")


def positions(plan: Plan, rows: slice, keys: slice) -> tuple[Tensor, Tensor]:
    """Return the positions of query (..., R, 1) and key slices (..., 1, K)."""
    at = plan.positions.at
    return at[..., rows, None], at[..., None, keys]


def slices(whole: slice, size: int) -> list[slice]:
    """Divide a slice into slices of at most `size`."""
    return [slice(start, min(start + size, whole.stop)) for start in range(whole.start, whole.stop, size)]


def shift(rows: slice, by: int) -> slice:
    return slice(rows.start + by, rows.stop + by)


def visible(plan: Plan, rows: slice, keys: slice) -> Tensor:
    """Return whether each query may see each key, (1, R, K) or (B, 1, R, K)."""
    before = plan.index[rows, None] >= plan.index[keys]
    result = before if plan.causal else torch.ones_like(before)
    if plan.effect.visible is not None:
        result = result & plan.effect.visible(*positions(plan, rows, keys))
    return result.unsqueeze(-3)


def key_range(plan: Plan, rows: slice) -> slice:
    """Return the smallest range of keys that holds every visible key of these queries."""
    start = 0 if plan.window is None else max(0, rows.start - plan.window + 1)
    return slice(start, rows.stop if plan.causal else plan.positions.length)


def by_pair(plan: Plan, name: str, i: Tensor, j: Tensor) -> Tensor:
    """Return the effect's `bias` or `score_scale` at i and j: (1 or H, R, K) or (B, 1 or H, R, K)."""
    value: Tensor = function_of_pairs(plan, name)(i, j).float()
    return value if value.dim() == 3 else value.transpose(0, 1)


@cached
def function_of_pairs(plan: Plan, name: str) -> ByDistance | ByPair:
    return tabulate(getattr(plan.effect, name), plan.positions.distances)


def bias(plan: Plan, rows: slice, keys: slice) -> Tensor:
    """Return the bias, minus infinity where a key is hidden: (1 or H, R, K) or (B, 1 or H, R, K) float32."""
    if plan.is_toeplitz:
        line = Toeplitz(bias_line(plan), line_start(plan, rows, keys))
        return line.matrix(rows.stop - rows.start, keys.stop - keys.start)
    if torch.is_grad_enabled() or plan.index.is_cuda:  # autograd keeps every intermediate result in any case
        return dense_bias(plan, rows, keys)
    result = torch.empty(0)
    for r, c in product(slices(rows, TILE[0]), slices(keys, TILE[1])):
        tile = dense_bias(plan, r, c)
        if result.dim() == 1:
            result = tile.new_empty(*tile.shape[:-2], rows.stop - rows.start, keys.stop - keys.start)
        result[..., shift(r, -rows.start), shift(c, -keys.start)] = tile
    return result


def dense_bias(plan: Plan, rows: slice, keys: slice) -> Tensor:
    """Return `bias`, evaluated pair by pair."""
    hidden = ~visible(plan, rows, keys)
    if plan.effect.bias is None:
        return torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, HIDDEN)
    numbers = by_pair(plan, "bias", *positions(plan, rows, keys))
    sees_all = plan.causal and plan.effect.visible is None and keys.stop <= rows.start + 1
    return numbers if sees_all else numbers.masked_fill(hidden, HIDDEN)


@cached
def bias_line(plan: Plan) -> Tensor:
    """Return `bias` of a Toeplitz plan from the greatest distance to the smallest, (1 or H, 2T - 1)."""
    distance, zero = distances(plan)
    hidden = distance < 0 if plan.causal else torch.zeros_like(distance, dtype=torch.bool)
    if plan.effect.visible is not None:
        hidden = hidden | ~plan.effect.visible(distance, zero)
    numbers = torch.zeros_like(distance, dtype=torch.float32).mT
    if plan.effect.bias is not None:
        numbers = by_pair(plan, "bias", distance, zero).squeeze(-1)
    return numbers.masked_fill(hidden.squeeze(-1), HIDDEN)


@cached
def factor_line(plan: Plan) -> Tensor:
    """Return the factor from the greatest distance to the smallest, (1 or H, 2T - 1)."""
    return by_pair(plan, "score_scale", *distances(plan)).squeeze(-1)


def distances(plan: Plan) -> tuple[Tensor, Tensor]:
    """Return positions whose differences are all distances, the greatest first, (2T - 1, 1) and (1, 1)."""
    length = plan.positions.length
    distance = torch.arange(length - 1, -length, -1, device=plan.index.device)[:, None]
    return distance, torch.zeros_like(distance[:1])


def line_start(plan: Plan, rows: slice, keys: slice) -> int:
    """Return the place of the distance from the first query to the first key in a line."""
    return plan.positions.length - 1 - (rows.start - keys.start)


def hide(plan: Plan, numbers: Tensor, rows: slice, keys: slice) -> Tensor:
    """Replace numbers by minus infinity, in place, where a key is hidden."""
    start = rows.start + 1 if plan.causal and plan.effect.visible is None else 0  # all before it are visible
    hidden = slice(min(max(keys.start, start), keys.stop), keys.stop)
    numbers[..., shift(hidden, -keys.start)].masked_fill_(~visible(plan, rows, hidden), HIDDEN)
    return numbers


def scaled_bias(plan: Plan, rows: slice, keys: slice) -> Tensor:
    """Return `bias` times the logit_scale, if there are both."""
    effect, result = plan.effect, bias(plan, rows, keys)
    if effect.bias is None or effect.logit_scale is None:
        return result
    return scale_visible(result, of_queries(effect.logit_scale, rows))


def mask(plan: Plan, rows: slice, keys: slice) -> Tensor:
    """Return `scaled_bias`, after a column for a sink if there is one."""
    result = scaled_bias(plan, rows, keys)
    if plan.effect.sink is None:
        return result
    column = of_queries(plan.effect.sink, rows)  # (..., H, R, 1)
    shape = torch.broadcast_shapes(result.shape[:-1], column.shape[:-1])
    return torch.cat(
        [column.expand(*shape, 1).to(result.dtype), result.expand(*shape, result.size(-1))], dim=-1
    )


@cached
def whole_mask(plan: Plan) -> Tensor:
    """Return the mask of all pairs, (1 or B, 1 or H, T, T)."""
    whole = slice(0, plan.positions.length)
    result = mask(plan, whole, whole)
    return result if result.dim() == 4 else result[None]


@cached
def whole_factor(plan: Plan) -> Tensor:
    """Return the factor of all pairs, (1 or B, 1 or H, T, T)."""
    result = by_pair(plan, "score_scale", *positions(plan, slice(None), slice(None)))
    return result if result.dim() == 4 else result[None]


def compact_mask(plan: Plan, rows: slice, keys: slice) -> Tensor | Toeplitz:
    """Return `scaled_bias`, as a line where distances decide."""
    if not plan.is_toeplitz:
        return scaled_bias(plan, rows, keys)
    line, effect = bias_line(plan), plan.effect
    if effect.bias is not None and effect.logit_scale is not None:
        line = scale_visible(line, effect.logit_scale)
    return Toeplitz(line, line_start(plan, rows, keys))


def compact_factor(plan: Plan, rows: slice, keys: slice) -> Tensor | Toeplitz | None:
    """Return the factor, as a line where distances decide."""
    if plan.effect.score_scale is None:
        return None
    if plan.has_factor_line:
        return Toeplitz(factor_line(plan), line_start(plan, rows, keys))
    return by_pair(plan, "score_scale", *positions(plan, rows, keys))


def blocks(plan: Plan, heads: int, has_mask: bool) -> list[tuple[slice, slice]]:
    """Return blocks of queries with their visible keys, the last first; a single block unless a mask is
    dense."""
    length, size = plan.positions.length, plan.positions.length
    if has_mask and not (plan.is_toeplitz and plan.has_factor_line):
        size = min(ROWS, max(FEWEST, BUDGET // (heads * length)))
    parts = slices(slice(plan.query_start, length), size)
    return [(rows, key_range(plan, rows)) for rows in reversed(parts)]


def with_sink(plan: Plan, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Return k and v (B, H, K, D) after zeros for a sink, whose logit is in the mask."""
    return (k, v) if plan.effect.sink is None else (F.pad(k, (0, 0, 1, 0)), F.pad(v, (0, 0, 1, 0)))


def of_queries(value: Tensor, rows: slice) -> Tensor:
    """Return the values of these queries, (..., R or 1, 1), from (..., T or 1)."""
    return value[..., rows if value.size(-1) > 1 else slice(None), None]


def scale_visible(logits: Tensor, logit_scale: Tensor) -> Tensor:
    """Return logits times the logit_scale; hidden ones stay hidden even where it is 0."""
    hidden = logits == HIDDEN
    return (logits.masked_fill(hidden, 0) * logit_scale).masked_fill(hidden, HIDDEN)
