"""FlexAttention: the bias is looked up inside the kernel, blocks that nobody sees are skipped."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from models.effect import Curve, Effect
from models.kernels.pairs import exactly


def attend(q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D); any effect but those that read the logits."""
    if effect.adjust is not None or effect.values is not None:
        raise ValueError("The flex kernel never sees the logits: use kernel=explicit for this encoding.")
    scale, length = q.size(-1) ** -0.5, q.size(-2)
    height = None if effect.potential is None or x is None else effect.potential(x)
    q, k, v = in_regions(q, k, v, effect)
    key = "blocks", causal
    if key not in effect.shared:
        effect.shared[key] = create_block_mask(
            seen(effect, length, causal), None, None, length, k.size(-2), q.device.type
        )
    run: Any = compiled() if q.is_cuda else flex_attention
    with exactly(q, v.dtype):
        out = run(q, k, v.to(q.dtype), score(effect, length, height), effect.shared[key], scale=scale)
    return cast(Tensor, out.to(v.dtype))


@cache
def compiled() -> Callable:
    """One compiled FlexAttention for all layers and lengths."""
    return torch.compile(flex_attention, dynamic=True)


def in_regions(q: Tensor, k: Tensor, v: Tensor, effect: Effect) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v with the rotations applied.

    With a far region every key appears twice, once per rotation, each copy in its own
    half of a doubled head width: (q, q') . (k, 0) = q.k and (q, q') . (0, k') = q'.k'.
    `seen` then shows each query one copy of every key.
    """
    near_q, near_k = effect.rotate(q, k) if effect.rotate else (q, k)
    if effect.far is None:
        return near_q, near_k, v
    far_q, far_k = effect.far.rotate(q, k)
    keys = [F_pad(near_k, far_k.size(-1), after=True), F_pad(far_k, near_k.size(-1), after=False)]
    return torch.cat([near_q, far_q], -1), torch.cat(keys, -2), torch.cat([v, v], -2)


def F_pad(x: Tensor, width: int, after: bool) -> Tensor:  # noqa: N802
    return torch.nn.functional.pad(x, (0, width) if after else (width, 0))


def seen(effect: Effect, length: int, causal: bool) -> Callable:
    """FlexAttention's mask: which keys a query may see (indices into q and the possibly doubled k)."""
    at = effect.positions.at

    def mask_mod(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        key = j % length
        result = i >= key if causal else i >= 0
        if effect.far is not None:
            result = result & ((at[i] - at[key] >= effect.far.window) == (j >= length))
        if effect.visible is not None:
            result = result & effect.visible(at[i], at[key])
        return result

    return mask_mod


def score(effect: Effect, length: int, height: Tensor | None) -> Callable | None:
    """FlexAttention's score: bias, potential and temperature of one pair."""
    bias, at, temperature = effect.bias, effect.positions.at, effect.temperature
    if bias is None and height is None and temperature is None:
        return None
    dense = None if bias is None or isinstance(bias, Curve) else bias(at[:, None], at[None, :])  # (H, T, T)

    def score_mod(value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        key = j % length
        if isinstance(bias, Curve):
            index = (at[i] - at[key] - bias.first).clamp(0, bias.values.size(1) - 1)
            value = value + bias.values[h, index]
        elif dense is not None:
            value = value + dense[h, i, key]
        if height is not None:
            value = value + height[b, h, i] - height[b, h, key]
        if temperature is not None:
            value = value * temperature[h % temperature.size(0), i]
        return value

    return score_mod
