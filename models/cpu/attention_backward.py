"""Flash attention in C with gradients, as an operator that compilers know; it keeps the weights."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

from models.cpu import dense
from models.cpu.attention import SIDE, Logits, Params, StridedTensor, empty_by_token, run
from models.ops.first_order import first_order


@custom_op("yardstick::flash", mutates_args=())
def flash(
    qkv: Sequence[Tensor],
    mask: Tensor | None,
    factor: Tensor | None,
    scale: float,
    window: int | None,
    is_decay: bool,
) -> tuple[Tensor, Tensor]:
    """Return the output (B, H, T, D) and the weights; with gradient, except for the factor."""
    q, k, v = map(dense, qkv)
    out, probs = empty_outputs(qkv)
    scores = Logits(scale, window, mask, factor, is_decay)
    run("attention", Params(scores, q=q, k=k, v=v, out=out, probs=probs), v)
    return out, probs


@flash.register_fake
def empty_outputs(qkv: Sequence[Tensor], *_: object) -> tuple[Tensor, Tensor]:
    q, k, v = qkv
    return empty_by_token(q, v.size(-1)), q.new_empty(*q.shape[:-1], -(-k.size(-2) // SIDE) * SIDE)


@custom_op("yardstick::flash_backward", mutates_args=())
def flash_backward(
    gradient: Tensor,
    saved: Sequence[Tensor],
    mask_shape: Sequence[int],
    factor: Tensor | None,
    scale: float,
    window: int | None,
) -> list[Tensor]:
    """Return the gradients of q, k, v and, if its shape is not empty, of a mask."""
    *qkv, probs = saved
    inputs = dict(zip(("q", "k", "v", "gradient"), map(dense, (*qkv, gradient)), strict=True))
    result = empty_gradients(gradient, saved, mask_shape)
    outputs = dict(zip(("to_q", "to_k", "to_v"), result, strict=False))
    params = Params(Logits(scale, window, factor=factor), probs=probs, **inputs, **outputs)
    for x in result[3:]:
        params.to_mask = StridedTensor.of(x.zero_().expand(*qkv[0].shape[:3], -1))
    run("attention_backward", params, inputs["v"])
    return result


@flash_backward.register_fake
def empty_gradients(
    gradient: Tensor, saved: Sequence[Tensor], mask_shape: Sequence[int], *_: object
) -> list[Tensor]:
    result = [empty_like(x) for x in saved[:3]]
    if mask_shape:
        shape = mask_shape[0], saved[0].size(1), *mask_shape[2:]
        result.append(gradient.new_empty(shape, dtype=torch.float32))
    return result


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    qkv, mask, ctx.factor, ctx.scale, ctx.window, _ = inputs
    ctx.mask_shape = list(mask.shape) if mask is not None and mask.requires_grad else []
    ctx.save_for_backward(*qkv, output[1])


@first_order
def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[list[Tensor] | Tensor | None, ...]:
    saved = list(ctx.saved_tensors)
    result = flash_backward(gradient, saved, ctx.mask_shape, ctx.factor, ctx.scale, ctx.window)
    to_mask = result[3].sum_to_size(ctx.mask_shape) if ctx.mask_shape else None
    return result[:3], to_mask, None, None, None, None


flash.register_autograd(backward, setup_context=setup_context)


def empty_like(x: Tensor) -> Tensor:
    """Allocate a tensor with the memory order of x, tokens or heads first, without its overlaps."""
    return empty_by_token(x, x.size(-1)) if x.stride(1) < x.stride(2) else x.new_empty(x.shape)
