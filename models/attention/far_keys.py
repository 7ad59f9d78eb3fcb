"""Near keys by their logits, all keys beyond that band by flash attention; without gradient.

For encodings with a tail of keys of which they treat all alike.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from conf.errors import UsageError
from models.attention import masks as pairs
from models.attention.eager import by_block, by_logits
from models.attention.flash import alike, read_in_part
from models.attention.plan import Plan
from models.cpu.attention import Logits, by_c
from models.effect import Tail, Window

ROWS = 128  # queries that read their near keys at once
PARTS = 4  # of a longer block: it reads the keys far from all of it at once, then each part the rest
LEAST = 1024  # tokens; shorter sequences are as fast without
NEAR = 4  # a sequence is that many times as long as the band, at the least

Read = tuple[Tensor, Tensor]
"""What queries read from some keys (B, H, R, D), and the logarithm of the sum of weights (B, H, R)."""


def fits(plan: Plan) -> bool:
    """Whether most pairs of a sequence are so far apart that the effect does no more than rotate q and k."""
    if torch.is_grad_enabled() or torch.compiler.is_compiling() or not plan.positions.at.is_cpu:
        return False
    span = plan.positions.span
    return span >= LEAST and plan.tail is not None and span >= NEAR * plan.tail.start


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan, x: Tensor | None = None) -> Tensor:
    """(B, H, T, D)"""
    if torch.is_grad_enabled():
        raise UsageError("The band kernel has no gradient: train with kernel=explicit, or auto.")
    tail = plan.tail
    if tail is None:
        raise UsageError("The band kernel needs an encoding that treats far keys alike: use kernel=explicit.")
    if tail.reached is None:
        return banded(q, k, v, plan, tail, x)
    out = torch.empty_like(v)
    for start, heads in starts(q, k, plan, tail).items():
        some = q[:, heads], k[:, heads], v[:, heads], plan
        out[:, heads] = by_logits(*some, x) if start is None else banded(*some, replace(tail, start=start), x)
    return out


def starts(q: Tensor, k: Tensor, plan: Plan, tail: Tail) -> dict[int | None, list[int]]:
    """Heads by the distance from which on all keys of all queries are in the tail; None: too far to gain."""
    assert tail.reached is not None
    result: dict[int | None, list[int]] = {}
    heads, start, length = list(range(q.size(1))), tail.start, q.size(-2)
    while heads and NEAR * start <= length:
        nearest = Plan(replace(plan.effect, adjust=None, visible=Window(start)))
        logits = by_block(q[:, heads], k[:, heads], nearest, q.dtype)
        reached = torch.ones(len(heads), dtype=torch.bool)
        for rows in pairs.parted(slice(start, length), ROWS):
            some = logits(rows, pairs.visible_keys(nearest, rows))
            reached &= tail.reached(some).all(-1).all(0)
        for head, is_tail in zip(heads, reached.tolist(), strict=True):
            result.setdefault(start if is_tail else None, []).append(head)
        heads, start = result.pop(None, []), 2 * start
    return result | ({None: heads} if heads else {})


def banded(q: Tensor, k: Tensor, v: Tensor, plan: Plan, tail: Tail, x: Tensor | None) -> Tensor:
    """(B, H, T, D) where the tail starts at the same distance for all queries and heads."""
    logits = by_block(q, k, plan, v.dtype, x)
    level = None if tail.level is None else tail.level(q)
    (far_q, far_k), scale = tail.rotate(*plan.phased(q, k, x)), q.size(-1) ** -0.5

    def read(rows: slice, start: int) -> Read:
        """Of all keys from `start` on."""
        border = max(start, rows.start - tail.start + 1)
        count = rows.stop - rows.start
        if count <= ROWS:
            close = weighted(logits(rows, slice(border, rows.stop)), v[:, :, border : rows.stop])
        else:
            parts = pairs.parted(rows, -(-count // PARTS))
            out, totals = zip(*[read(part, border) for part in parts], strict=True)
            close = torch.cat(out, dim=-2), torch.cat(totals, dim=-1)
        if border == start:
            return close
        keys = slice(start, border)
        distant, total = flash(far_q[:, :, rows], far_k[:, :, keys], v[:, :, keys], scale)
        return joined(close, (distant, total if level is None else total + level[..., rows]))

    return read(slice(0, q.size(-2)), 0)[0].to(v.dtype)


def weighted(logits: Tensor, v: Tensor) -> Read:
    """The logarithm of a sum of exponentials is the greatest logit less that of the greatest weight."""
    weights = logits.softmax(-1, torch.float32)
    total = logits.amax(-1).float() - weights.amax(-1).log()
    return (weights.to(v.dtype) @ v).float(), total


def flash(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Read:
    """Of all keys."""
    q, k, v = alike(q, k, v)
    if by_c(v, "attention"):
        out, total = read_in_part(q, k, v, Logits(scale, causal=False))
        return out.float(), total
    width = max(q.size(-1), v.size(-1))
    width += -width % 8  # a multiple of 8, the same for all three
    padded = (F.pad(x, (0, width - x.size(-1))) for x in (q, k, v))
    out, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*padded, scale=scale)
    return out[..., : v.size(-1)].float(), total


def joined(close: Read, distant: Read) -> Read:
    share = (close[1] - distant[1]).sigmoid()[..., None]
    return torch.lerp(distant[0], close[0], share), torch.logaddexp(close[1], distant[1])
