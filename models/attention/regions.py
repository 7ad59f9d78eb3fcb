"""Far keys that are rotated differently, through flash attention in C; without gradient.

The keys of a query that one rotation serves are an interval. Queries whose intervals move alike are read at
once, and what a query reads from its intervals is joined.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from models.attention import masks
from models.attention.far_keys import join
from models.attention.plan import Plan, cached
from models.cpu.attention import Logits, loops_for, read_keys, same_dtype
from models.ops.precision import is_inspectable

LEAST = 256  # queries; for fewer, blocks of logits are faster
FEWEST = 16  # queries that are read at once, on average
EMPTY, STILL, GROWING, MOVING, JUMP = range(-1, 4)  # ways from a query's interval to that of the next


class KeyInterval(NamedTuple):
    """The keys from `first` to before `stop` of each query, (T,) each, and the number of their rotation."""

    rotation: int
    first: Tensor
    stop: Tensor


class QueryRun(NamedTuple):
    """Queries, all keys that any of them sees under one rotation, and how many each sees up to its last one
    (None: all)."""

    rotation: int
    rows: slice
    keys: slice
    window: int | None


def refusal(q: Tensor, plan: Plan) -> str | None:
    if torch.is_grad_enabled():
        return "it has no gradient"
    if "regions" not in plan.parts or plan.parts - {"regions", "visible"}:
        return "it can rotate near and far keys and hide some, no more"
    if not (plan.causal and plan.positions.is_consecutive):
        return "keys must be those at consecutive positions up to the query's own"
    can_read = not torch.compiler.is_compiling() and is_inspectable(plan.index) and loops_for(q) is not None
    return None if can_read else "there are no loops in C for this device and precision"


def is_worthwhile(plan: Plan) -> bool:
    """Return whether there are many queries, and many of them are read at once."""
    count = plan.positions.length - plan.query_start
    return count >= LEAST and FEWEST * len(runs(plan, plan.query_start)) <= count


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of the queries that the plan asks for, (B, H, R, D)."""
    start, regions = plan.query_start, plan.effect.regions
    assert regions is not None
    rotated = [plan.rotate(q, k), *(rotate(q, k) for rotate in regions.rotations)]
    out = v.new_zeros(*q.shape[:2], q.size(2) - start, v.size(-1), dtype=torch.float32)
    lse = out.new_full(out.shape[:-1], float("-inf"))
    for rotation, rows, keys, window in runs(plan, start):
        (all_q, all_k), found = rotated[rotation], masks.shift(rows, -start)
        some_q, some_k, some_v = same_dtype(all_q[:, :, rows], all_k[:, :, keys], v[:, :, keys])
        read, total = read_keys(some_q, some_k, some_v, Logits(q.size(-1) ** -0.5, window))
        so_far = out[:, :, found], lse[:, :, found]
        out[:, :, found], lse[:, :, found] = join(so_far, (read.float(), total))
    return out.to(v.dtype)


@cached
def runs(plan: Plan, start: int) -> list[QueryRun]:
    """Return what the queries from `start` on read at once."""
    return [run for interval in intervals(plan) for run in runs_of(interval, start)]


def intervals(plan: Plan) -> Iterator[KeyInterval]:
    """Yield the visible keys of each region; a region has several intervals if there are sinks."""
    at, visible, regions = plan.index, plan.effect.visible, plan.effect.regions
    assert regions is not None
    ranges = [(torch.zeros_like(at), at + 1)]  # of visible keys
    if visible is not None:
        first = (at + 1 - visible.width).clamp(min=0)
        ranges = [(first, at + 1), (torch.zeros_like(at), first.clamp(max=visible.sinks))]
    stop = at + 1
    for rotation in range(len(regions.rotations) + 1):
        first = keys_beyond(plan, rotation)
        for low, high in ranges:
            yield KeyInterval(rotation, first.maximum(low), stop.minimum(high))
        stop = first


def keys_beyond(plan: Plan, number: int) -> Tensor:
    """Return how many keys of each query are in regions after this one, (T,): all these keys come first."""
    regions, at = plan.effect.regions, plan.index
    assert regions is not None
    low, high = torch.zeros_like(at), at + 1
    for _ in range(len(at).bit_length()):
        middle = (low + high) // 2
        is_beyond = (regions(at, middle.minimum(at)) > number) & (low < high)
        low, high = torch.where(is_beyond, middle + 1, low), torch.where(is_beyond, high, middle)
    return low


def runs_of(interval: KeyInterval, start: int) -> Iterator[QueryRun]:
    """Yield the longest runs of queries whose intervals move alike: not at all, at their end, or as a
    whole."""
    rotation, first, stop = interval[0], interval[1][start:], interval[2][start:]
    moved = torch.stack([first.diff(), stop.diff()]).T.tolist()
    ways = {(0, 0): STILL, (0, 1): GROWING, (1, 1): MOVING}
    kinds = torch.tensor([JUMP, *(ways.get((a, b), JUMP) for a, b in moved)])
    values, counts = kinds.masked_fill(first >= stop, EMPTY).unique_consecutive(return_counts=True)
    begin = 0
    for kind, count in zip(values.tolist(), counts.tolist(), strict=True):
        size = 1 if kind == JUMP else count
        for row in range(begin, begin + count, size) if kind != EMPTY else ():
            keys = slice(int(first[row]), int(stop[row + size - 1]))
            seen = {MOVING: int(stop[row] - first[row]), GROWING: keys.stop - keys.start}.get(kind)
            yield QueryRun(rotation, slice(start + row, start + row + size), keys, seen)
        begin += count
