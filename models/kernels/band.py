"""Near keys by their logits, all keys beyond that band by flash attention; without gradient.

For encodings that read the logits, or rotate q and k in several ways, and treat all far keys alike.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.kernels.explicit import by_block
from models.plan import Plan

ROWS = 128  # queries that read their near keys at once
PARTS = 4  # of a longer block: it reads the keys far from all of it at once, then each part the rest
LEAST = 1024  # tokens; shorter sequences are as fast without

Read = tuple[Tensor, Tensor]
"""What queries read from some keys (B, H, R, D), and the logarithm of the sum of weights (B, H, R)."""


def fits(plan: Plan) -> bool:
    """Whether most pairs of a sequence are so far apart that the effect does no more than rotate q and k."""
    at, far = plan.positions, plan.alike
    if far is None or torch.is_grad_enabled() or torch.compiler.is_compiling() or not at.at.is_cpu:
        return False
    return at.span >= max(LEAST, 4 * far.start)


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D)"""
    if torch.is_grad_enabled():
        raise ValueError("The band kernel has no gradient: train with kernel=explicit, or auto.")
    far = plan.alike
    if far is None:
        raise ValueError("The band kernel needs an encoding that treats far keys alike: use kernel=explicit.")
    logits = by_block(q, k, plan, v.dtype, x)
    beyond = Flash(*far.rotate(*plan.phased(q, k, x)), v, q.size(-1) ** -0.5)

    def read(rows: slice, start: int) -> Read:
        """Of all keys from `start` on."""
        border = max(start, rows.start - far.start + 1)
        if rows.stop - rows.start <= ROWS:
            close = weighted(logits(rows, slice(border, rows.stop)), v[:, :, border : rows.stop])
        else:
            out, total = zip(*[read(part, border) for part in parted(rows)], strict=True)
            close = torch.cat(out, dim=-2), torch.cat(total, dim=-1)
        return close if border == start else joined(close, beyond(rows, slice(start, border)))

    return read(slice(0, q.size(-2)), 0)[0].to(v.dtype)


def weighted(logits: Tensor, v: Tensor) -> Read:
    """The logarithm of a sum of exponentials is the greatest logit less that of the greatest weight."""
    weights = logits.softmax(-1, torch.float32)
    total = logits.amax(-1).float() - weights.amax(-1).log()
    return (weights.to(v.dtype) @ v).float(), total


class Flash:
    """Flash attention that also returns the sums of the weights, which the public function hides."""

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, scale: float) -> None:
        width = max(q.size(-1), v.size(-1))
        width += -width % 8  # a multiple of 8, the same for all three
        self.q, self.k, self.v = (F.pad(a.to(q.dtype), (0, width - a.size(-1))) for a in (q, k, v))
        self.width, self.scale = v.size(-1), scale

    def __call__(self, rows: slice, keys: slice) -> Read:
        q, k, v = self.q[:, :, rows], self.k[:, :, keys], self.v[:, :, keys]
        out, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, scale=self.scale)
        return out[..., : self.width].float(), total


def joined(close: Read, distant: Read) -> Read:
    share = (close[1] - distant[1]).sigmoid()[..., None]
    return torch.lerp(distant[0], close[0], share), torch.logaddexp(close[1], distant[1])


def parted(rows: slice) -> list[slice]:
    size = -(-(rows.stop - rows.start) // PARTS)
    return [slice(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size)]
