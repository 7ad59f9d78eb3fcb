"""Flash attention by loops in C, forward and backward: its logits never leave the processor's cache.

Whatever is done to a logit costs little beside the softmax itself; what distances decide is read from
one line. With gradient, the weights are kept in the precision of v.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.library import custom_op

from models.cpu import dense
from models.cpu.attention import SIDE, Lines, Logits, Where, described, run
from models.ops.first_order import first_order


def read(q: Tensor, k: Tensor, v: Tensor, logits: Logits) -> Tensor:
    """(B, H, R, D) what queries read, without gradient."""
    return read_in_part(q, k, v, logits)[0]


def read_in_part(q: Tensor, k: Tensor, v: Tensor, logits: Logits) -> tuple[Tensor, Tensor]:
    """The same, and the logarithms of the sums of weights (B, H, R), float32, with which it is joined to what
    other keys give."""
    q, k, v = (dense(x) for x in (q, k, v))
    out, total = of_tokens(q, v.size(-1)), q.new_empty(q.shape[:-1], dtype=torch.float32)
    run("attention", described(logits, q=q, k=k, v=v, out=out, total=total), v, logits.network)
    return out, total


class How(NamedTuple):
    """What is done to products, but for tensors."""

    scale: float
    causal: bool
    before: int = 0
    window: int = 0
    backwards: bool = False  # the factor's queries are from last to first

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "How":
        scale, causal, before, window, backwards = numbers
        return cls(scale, bool(causal), int(before), int(window), bool(backwards))

    def logits(self, mask: Tensor | None, factor: Tensor | None, queries: int) -> Logits:
        lines = None if factor is None else Lines.of(factor, self.backwards)
        logits = Logits(self.scale, self.causal, self.before, self.window, factor=lines)
        if mask is None:
            return logits
        return replace(logits, mask=Lines.of(mask), potential=mask.size(-2) < queries)


@custom_op("yardstick::flash", mutates_args=())
def flash(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, factor: Tensor | None, how: Sequence[float]
) -> tuple[Tensor, Tensor]:
    """(B, H, R, D) what queries read, and the weights, with gradient but for the factor; mask and factor are
    (1 or B, 1 or H, 1 or R, K)."""
    q, k, v = (dense(x) for x in (q, k, v))
    (out, kept), logits = outputs(q, k, v), How.of(how).logits(mask, factor, q.size(-2))
    run("attention", described(logits, q=q, k=k, v=v, out=out, kept=kept), v)
    return out, kept


@flash.register_fake
def outputs(q: Tensor, k: Tensor, v: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    return of_tokens(q, v.size(-1)), q.new_empty(*q.shape[:-1], -(-k.size(-2) // SIDE) * SIDE)


@custom_op("yardstick::flash_backward", mutates_args=())
def flash_backward(
    gradient: Tensor,
    saved: Sequence[Tensor],
    factor: Tensor | None,
    how: Sequence[float],
    shape: Sequence[int],
) -> list[Tensor]:
    """Of q, k, v and, unless its `shape` is empty, the mask, from the gradient of what was read."""
    (*qkv, kept), logits = saved, How.of(how).logits(None, factor, 0)
    q, k, v, g = (dense(x) for x in (*qkv, gradient))
    to = gradients(saved, shape)
    into = dict(zip(("to_q", "to_k", "to_v"), to, strict=False))
    task = described(logits, q=q, k=k, v=v, kept=kept, gradient=g, **into)
    if shape:
        task.to_mask = Where.of(to[-1].zero_().expand(*q.shape[:3], -1))
    run("attention_backward", task, v)
    return to


def gradients(saved: Sequence[Tensor], shape: Sequence[int]) -> list[Tensor]:
    heads = [saved[0].size(1)]
    to_mask = [torch.empty([*shape[:1], *heads, *shape[2:]], dtype=torch.float32)] if shape else []
    return [*(like(x) for x in saved[:3]), *to_mask]


def like(x: Tensor) -> Tensor:
    """Room for as many numbers in the same order, tokens or heads first; those of x may overlap."""
    return of_tokens(x, x.size(-1)) if x.stride(1) < x.stride(2) else x.new_empty(x.shape)


def remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *qkv, mask, ctx.factor, ctx.how = inputs
    ctx.shape = [] if mask is None or not ctx.needs_input_grad[3] else list(mask.shape)
    ctx.save_for_backward(*qkv, output[1])


@first_order
def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    to = flash_backward(gradient, list(ctx.saved_tensors), ctx.factor, ctx.how, ctx.shape)
    to_mask = to[3].sum_to_size(ctx.shape) if ctx.shape else None
    return *to[:3], to_mask, None, None


flash_backward.register_fake(lambda gradient, saved, factor, how, shape: gradients(saved, shape))
flash.register_autograd(backward, setup_context=remember)


def alike(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All three as numbers of one type, as the loops read them."""
    return (q, k, v) if q.dtype == k.dtype == v.dtype else (q.float(), k.float(), v.float())


def of_tokens(q: Tensor, width: int) -> Tensor:
    """(B, H, R, D) whose heads lie side by side, as the layer after attention reads them."""
    return q.new_empty(q.size(0), q.size(2), q.size(1), width).transpose(1, 2)
