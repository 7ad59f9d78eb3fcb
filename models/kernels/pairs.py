"""What the kernels know of a block of (query, key) pairs: which are seen, and the bias between them."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from models.effect import Curve, Effect


def exactly(q: Tensor, v: Tensor) -> AbstractContextManager:
    """Keeps autocast away from a q that was turned into more precision than the model's: it needs it."""
    return nullcontext() if q.dtype == v.dtype else torch.autocast(q.device.type, enabled=False)


def allowed(effect: Effect, query_at: Tensor, key_at: Tensor, causal: bool) -> Tensor:
    """(R, K) whether the query at each position may see the key at each position."""
    i, j = query_at[:, None], key_at[None, :]
    seen = i >= j if causal else torch.ones(i.numel(), j.numel(), dtype=torch.bool, device=i.device)
    return seen if effect.visible is None else seen & effect.visible(i, j)


def additive(effect: Effect, rows: slice, keys: slice, causal: bool, dtype: torch.dtype) -> Tensor:
    """(1 or H, R, K) the bias between some queries and some keys, -inf where a key is not seen."""
    at = effect.positions.at
    if effect.visible is None and effect.positions.consecutive and isinstance(effect.bias, Curve | None):
        return toeplitz(effect, rows, keys, causal, dtype)
    seen = allowed(effect, at[rows], at[keys], causal)
    bias = torch.zeros((), device=at.device)
    if effect.bias is not None:
        bias = effect.bias(at[rows, None], at[None, keys]).float()
    return bias.where(seen, float("-inf")).to(dtype).reshape(-1, *seen.shape)


def toeplitz(effect: Effect, rows: slice, keys: slice, causal: bool, dtype: torch.dtype) -> Tensor:
    """`additive` where it depends on the distance alone: views of one line, no look-up per pair."""
    line, least = effect.shared.get(("line", causal, dtype)) or by_distance(effect, causal, dtype)
    effect.shared["line", causal, dtype] = line, least
    start = rows.start - (keys.stop - 1) - least  # the smallest distance of the block, as an index
    count, width = rows.stop - rows.start, keys.stop - keys.start
    block = line[:, start : start + count + width - 1]  # (H, R + K - 1) by growing distance
    return block.unfold(-1, width, 1).flip(-1)  # row r starts at distance r + smallest, read backwards


def by_distance(effect: Effect, causal: bool, dtype: torch.dtype) -> tuple[Tensor, int]:
    """((1 or H, 2T - 1), smallest distance): the bias at every distance, -inf ahead if causal."""
    length, device = effect.positions.span, effect.positions.at.device
    if effect.bias is None:
        values, first = torch.zeros(1, length if causal else 2 * length - 1, device=device), 0
        first = 0 if causal else 1 - length
    else:
        assert isinstance(effect.bias, Curve)
        values, first = effect.bias.values.float(), effect.bias.first
    if causal:
        ahead = values.new_full((values.size(0), length - 1), float("-inf"))
        values, first = torch.cat([ahead, values[:, -first:]], dim=-1), 1 - length
    return values.to(dtype), first
