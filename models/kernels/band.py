"""The keys near each query one way, all keys beyond that band by flash attention; without gradient.

For encodings that treat all far keys alike, as those do that clip distances.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from models.effect import Curve, Effect, Far
from models.kernels.explicit import by_block
from models.kernels.pairs import additive
from models.precision import as_given

ROWS = 128  # queries that read what is near them at once
PARTS = 4  # of a longer block: all of it reads what is far from all of it, then each part what is left
LEAST = 1024  # tokens; shorter sequences are as fast without

Read = tuple[Tensor, Tensor]
"""What queries read of some keys (B, H, R, D), and the logarithm of the sum of their weights (B, H, R)."""


def fits(effect: Effect) -> bool:
    """Whether most pairs of a sequence are so far apart that the effect does no more than turn q and k."""
    at = effect.positions
    if torch.is_grad_enabled() or torch.compiler.is_compiling() or not at.at.is_cpu or at.span < LEAST:
        return False
    found = apart(effect)
    return found is not None and at.span >= 4 * found[1].window


def attend(q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D)"""
    if torch.is_grad_enabled():
        raise ValueError("The band kernel has no gradient: train with kernel=explicit, or auto.")
    found = apart(effect)
    if found is None or not causal:
        raise ValueError("The band kernel needs an encoding that treats far keys alike: use kernel=explicit.")
    near, far = found
    logits = by_block(q, k, near, causal, None, v.dtype)
    flash = Flash(*far.rotate(q, k), v, q.size(-1) ** -0.5)

    def nearby(rows: slice, keys: slice) -> Read:
        if near.adjust is None and near.far is None:  # q and k are turned as they are far away
            return flash(rows, keys, additive(near, rows, keys, causal, torch.float32))
        block = logits(rows, keys)
        weights = block.softmax(-1, torch.float32)
        total = block.amax(-1).float() - weights.amax(-1).log()
        return (weights.to(v.dtype) @ v[:, :, keys]).float(), total

    def read(rows: slice, start: int) -> Read:
        """Of all keys from `start` on."""
        border = max(start, rows.start - far.window + 1)
        if rows.stop - rows.start <= ROWS:
            close = nearby(rows, slice(border, rows.stop))
        else:
            out, total = zip(*[read(part, border) for part in parted(rows)], strict=True)
            close = torch.cat(out, dim=-2), torch.cat(total, dim=-1)
        return close if border == start else joined(close, flash(rows, slice(start, border)))

    return read(slice(0, q.size(-2)), 0)[0].to(v.dtype)


class Flash:
    """Flash attention that gives the sums of the weights as well, which the public function hides."""

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, scale: float) -> None:
        width = max(q.size(-1), v.size(-1))
        width += -width % 8  # what it wants, and the same for all three
        self.q, self.k, self.v = (F.pad(a.to(q.dtype), (0, width - a.size(-1))) for a in (q, k, v))
        self.width, self.scale = v.size(-1), scale

    def __call__(self, rows: slice, keys: slice, mask: Tensor | None = None) -> Read:
        """With a mask (1 or H, R, K) that is added."""
        q, k, v = self.q[:, :, rows], self.k[:, :, keys], self.v[:, :, keys]
        mask = None if mask is None else mask.expand(*q.shape[:2], -1, -1)
        with as_given(q.device):
            out, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                q, k, v, attn_mask=mask, scale=self.scale
            )
        return out[..., : self.width].float(), total


def joined(close: Read, distant: Read) -> Read:
    share = (close[1] - distant[1]).sigmoid()[..., None]
    return torch.lerp(distant[0], close[0], share), torch.logaddexp(close[1], distant[1])


def parted(rows: slice) -> list[slice]:
    size = -(-(rows.stop - rows.start) // PARTS)
    return [slice(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size)]


def apart(effect: Effect) -> tuple[Effect, Far] | None:
    """What an effect does nearby, and how it turns q and k from some distance on, all that it does there."""
    if "band" not in effect.shared:
        effect.shared["band"] = separated(effect)
    found: tuple[Effect, Far] | None = effect.shared["band"]
    return found


def separated(effect: Effect) -> tuple[Effect, Far] | None:
    others = effect.values, effect.potential, effect.temperature, effect.visible
    if any(part is not None for part in others) or not isinstance(effect.bias, Curve | None):
        return None
    if not effect.positions.causal or not effect.positions.consecutive:
        return None
    if effect.adjust is not None and effect.beyond is None:
        return None
    far = effect.far or effect.beyond
    if effect.bias is None:
        return None if far is None else (effect, far)
    level = effect.bias.values - effect.bias.values[:, -1:]  # softmax does not see what all keys share
    window = 1 + int(level.any(0).nonzero().amax()) if level.any() else 1
    far = far or Far(1, effect.rotate or as_they_are)
    near = replace(effect, bias=Curve(level), shared={})
    return near, replace(far, window=max(window, far.window))


def as_they_are(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return q, k
