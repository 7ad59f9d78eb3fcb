"""What the kernels know of a block of (query, key) pairs: which are seen, and the bias between them."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from models.effect import Curve, Effect
from models.kernels.weighted import together
from models.precision import as_given

PAIRS = 1 << 17  # that are looked up at a time


def exactly(q: Tensor, dtype: torch.dtype) -> AbstractContextManager:
    """Keeps autocast away from a q that was turned into more precision than the model's: it needs it."""
    return nullcontext() if q.dtype == dtype else as_given(q.device)


def allowed(effect: Effect, query_at: Tensor, key_at: Tensor, causal: bool) -> Tensor:
    """(R, K) whether the query at each position may see the key at each position."""
    i, j = query_at[:, None], key_at[None, :]
    seen = i >= j if causal else torch.ones(i.numel(), j.numel(), dtype=torch.bool, device=i.device)
    return seen if effect.visible is None else seen & effect.visible(i, j)


def additive(effect: Effect, rows: slice, keys: slice, causal: bool, dtype: torch.dtype) -> Tensor:
    """(1 or H, R, K) the bias between some queries and some keys, -inf where a key is not seen."""
    if depends_on_distance(effect):
        return toeplitz(effect, rows, keys, causal, dtype).flip(-2)
    at = effect.positions.at
    return looked_up(effect, at[rows], at[keys], causal, dtype)


def upside_down(effect: Effect, rows: slice, keys: slice, causal: bool, dtype: torch.dtype) -> Tensor:
    """(1 or H, R, K) `additive` times the temperature, its rows from the last to the first."""
    if depends_on_distance(effect) and effect.temperature is None:
        return toeplitz(effect, rows, keys, causal, dtype)
    at = effect.positions.at
    if effect.temperature is None:
        return looked_up(effect, at[rows].flip(0), at[keys], causal, dtype)
    mask = additive(effect, rows, keys, causal, torch.float32).flip(-2)
    hidden = mask == float("-inf")
    mask = mask.masked_fill(hidden, 0) * effect.temperature[:, rows, None].flip(-2)
    return mask.masked_fill(hidden, float("-inf")).to(dtype)


def depends_on_distance(effect: Effect) -> bool:
    """Whether mask and bias are the same all along each diagonal."""
    sinks = 0 if effect.visible is None else effect.visible.sinks
    return sinks == 0 and effect.positions.consecutive and isinstance(effect.bias, Curve | None)


def looked_up(effect: Effect, query_at: Tensor, key_at: Tensor, causal: bool, dtype: torch.dtype) -> Tensor:
    """(1 or H, R, K) the bias pair by pair, some queries at a time: of what a bias takes more memory for
    on its way, no more than a processor's cache holds."""
    parts = []
    for at in query_at.split(max(1, PAIRS // key_at.numel())):
        seen = allowed(effect, at, key_at, causal)
        bias = torch.zeros(seen.shape, device=key_at.device)
        if effect.bias is not None:
            bias = effect.bias(at[:, None], key_at[None, :]).float()
        parts.append(bias.masked_fill(~seen, float("-inf")).to(dtype).reshape(-1, *seen.shape))
    return together(parts)


def toeplitz(effect: Effect, rows: slice, keys: slice, causal: bool, dtype: torch.dtype) -> Tensor:
    """(1 or H, R, K) a view of one line, without a look-up per pair or a copy: what lets long sequences
    run. Strides are positive, so the last query comes first."""
    key = "line", causal, dtype
    if key not in effect.shared:
        effect.shared[key] = by_distance(effect, causal, dtype)
    line, greatest = effect.shared[key]
    start = greatest - (rows.stop - 1 - keys.start)  # of the last query to the first key
    count, width = rows.stop - rows.start, keys.stop - keys.start
    block: Tensor = line[:, start : start + count + width - 1].unfold(-1, width, 1)
    return block


def by_distance(effect: Effect, causal: bool, dtype: torch.dtype) -> tuple[Tensor, int]:
    """((1 or H, 2T - 1), T - 1): the bias from the greatest distance to the smallest, -inf where not seen."""
    length, device = effect.positions.span, effect.positions.at.device
    distances = torch.arange(length - 1, -length, -1, device=device)
    values = torch.zeros(1, 2 * length - 1, device=device)
    if effect.bias is not None:
        assert isinstance(effect.bias, Curve)
        values = effect.bias.values.float()
        values = values[:, (distances - effect.bias.first).clamp(0, values.size(1) - 1)]
    zero = torch.zeros_like(distances[:1])
    seen = allowed(effect, distances, zero, causal).squeeze(-1)
    return values.masked_fill(~seen, float("-inf")).to(dtype), length - 1
