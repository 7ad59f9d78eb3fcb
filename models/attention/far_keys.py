"""Near keys through their logits, all keys beyond that band through flash attention; without gradient.

This serves encodings with a tail of keys that they all treat in the same way.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention import masks
from models.attention.eager import block_logits
from models.attention.plan import Plan
from models.cpu.attention import Logits, loops_for, read_keys, same_dtype

ROWS = 128  # queries that read their near keys at once
PARTS = 4  # of a longer block: it reads the keys far from all of it at once, then each part the rest
LEAST = 1024  # tokens; shorter sequences are as fast without
NEAR = 4  # a sequence is that many times as long as the band, at the least

Read = tuple[Tensor, Tensor]
"""What queries read from some keys (B, H, R, D), and the logarithm of the sum of weights (B, H, R)."""


def refusal(q: Tensor, plan: Plan) -> str | None:
    if torch.is_grad_enabled():
        return "it has no gradient"
    return "far keys need their logits one by one" if plan.far_keys is None else None


def is_worthwhile(q: Tensor, plan: Plan) -> bool:
    """Return whether for most pairs of a sequence the effect only rotates q and k."""
    tail, span = plan.far_keys, plan.positions.span
    return tail is not None and q.is_cpu and span >= max(LEAST, NEAR * tail.start)


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output of all queries, (B, H, T, D)."""
    tail = plan.far_keys
    assert tail is not None
    reader = Reader(block_logits(q, k, plan), *tail.rotate(q, k), v, q.size(-1) ** -0.5, tail.start)
    return reader.read(slice(0, q.size(-2)), 0)[0].to(v.dtype)


@dataclass(frozen=True, eq=False)
class Reader:
    """Queries and keys, near ones by their logits and far ones rotated."""

    logits: Callable[[slice, slice], Tensor]
    q: Tensor
    k: Tensor
    v: Tensor
    scale: float
    first_far: int  # the distance from which on keys are far

    def read(self, rows: slice, start: int) -> Read:
        """Return the output of queries for all keys from `start` on."""
        border, count = max(start, rows.start - self.first_far + 1), rows.stop - rows.start
        if count <= ROWS:
            logits = self.logits(rows, slice(border, rows.stop))
            near = read_near(logits, self.v[:, :, border : rows.stop])
        else:
            parts = masks.slices(rows, -(-count // PARTS))
            out, lses = zip(*[self.read(part, border) for part in parts], strict=True)
            near = torch.cat(out, dim=-2), torch.cat(lses, dim=-1)
        if border == start:
            return near
        keys = slice(start, border)
        return join(near, read_far(self.q[:, :, rows], self.k[:, :, keys], self.v[:, :, keys], self.scale))


def read_near(logits: Tensor, v: Tensor) -> Read:
    """Return the output for keys with these logits, and the logarithm of their sum of weights."""
    probs = logits.softmax(-1)
    # the greatest weight is e to the greatest logit, less the logarithm of the sum
    lse = logits.amax(-1) - probs.amax(-1).log()
    return (probs.to(v.dtype) @ v).float(), lse


def read_far(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Read:
    """Return the output of queries for these keys."""
    q, k, v = same_dtype(q, k, v)
    if loops_for(v) is not None:
        out, lse = read_keys(q, k, v, Logits(scale, window=None))
        return out.float(), lse
    width = max(q.size(-1), v.size(-1))
    width += -width % 8  # a multiple of 8, the same for all three
    padded = (F.pad(x, (0, width - x.size(-1))) for x in (q, k, v))
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*padded, scale=scale)
    return out[..., : v.size(-1)].float(), lse


def join(near: Read, far: Read) -> Read:
    share = (near[1] - far[1]).sigmoid()[..., None]
    return torch.lerp(far[0], near[0], share), torch.logaddexp(near[1], far[1])
