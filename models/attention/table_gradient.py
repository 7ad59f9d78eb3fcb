"""The gradient of a learned bias by distance, summed along the diagonals of tiles.

FlexAttention would add the gradient of every pair to its distance: T * T additions in memory, many to the
same few numbers. Here a program computes the gradients of all tiles that are equally far from the diagonal
once more, and adds up the diagonals of a tile first. The order of all sums is fixed.

    B batch   H heads   T tokens   D head width   N distances   R tiles of S tokens
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

SIZE = 64  # tokens of a tile


class TableGradient(torch.autograd.Function):
    """Return the output of attention as it is; its gradient goes on to the attention, and to the bias."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, bias: Tensor, q: Tensor, k: Tensor, v: Tensor, lse: Tensor) -> Tensor:
        ctx.save_for_backward(out, bias, q, k, v, lse)
        return out.view_as(out)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return gradient, table_gradient(gradient, *ctx.saved_tensors), None, None, None, None


@torch.library.custom_op("yardstick::table_gradient", mutates_args=())
def table_gradient(
    gradient: Tensor, out: Tensor, bias: Tensor, q: Tensor, k: Tensor, v: Tensor, lse: Tensor
) -> Tensor:
    """Return the gradient of a bias by distance (1 or H, N), from that of the output of causal attention.

    Positions are consecutive, N is at least T, and T is a multiple of 64. q, out and their gradient are
    (B, H, T, D); k and v may have fewer heads; `lse` (B, H, T) is the logarithm of the sum of the weights.
    """
    batch, heads, length, width = q.shape
    tiles, groups = length // SIZE, heads // k.size(1)
    weighed = (gradient.float() * out.float()).sum(-1)  # (B, H, T)
    q, k, v, gradient, lse, bias = (x.contiguous() for x in (q, k, v, gradient, lse, bias))
    # for each distance from the diagonal, the sums of the lower and of the upper diagonals of its tiles
    sums = q.new_empty(batch * heads, tiles, 2, SIZE, dtype=torch.float32)
    shape = {"width": width, "size": SIZE, "heads": heads, "groups": groups, "tables": bias.size(0)}
    arguments = (q, k, v, gradient, lse, weighed, bias, sums, length, bias.size(1), width**-0.5)
    sum_diagonals[(tiles, batch * heads)](*arguments, **shape)
    lower, upper = sums.unflatten(0, (batch, heads)).sum(0).unbind(-2)  # (H, R, S)
    lower[:, :-1] += upper[:, 1:]  # they are as far as the lower ones of the tiles before
    result = torch.zeros_like(bias).float()
    by_distance = lower.flatten(-2)[:, : bias.size(1)]  # (H, T)
    result[:, :length] = by_distance.sum(0, keepdim=True) if bias.size(0) == 1 else by_distance
    return result


@table_gradient.register_fake
def _(gradient: Tensor, out: Tensor, bias: Tensor, *_: Tensor) -> Tensor:
    return torch.empty_like(bias, dtype=torch.float32)


@triton.jit
def sum_diagonals(  # type: ignore[no-untyped-def]  # Triton reads annotations
    q, k, v, gradient, lse, weighed, bias, sums, length, distances, scale,
    width: tl.constexpr, size: tl.constexpr, heads: tl.constexpr, groups: tl.constexpr, tables: tl.constexpr,
):  # fmt: skip
    """Add up the gradients of the logits along the diagonals of all tiles that are equally far from the main
    diagonal."""
    apart, head = tl.program_id(0), tl.program_id(1)
    keys_head = head // heads * (heads // groups) + head % heads // groups
    i, d = tl.arange(0, size), tl.arange(0, width)
    distance = apart * size + i[:, None] - i[None, :]
    numbers = bias + head % heads % tables * distances + distance
    offset = tl.load(numbers, mask=distance >= 0, other=float("-inf"))  # (size, size), hides keys ahead
    turned = (i[:, None] - i[None, :] + size) % size  # moves the key that is d before its query to column d
    is_lower = i[None, :] <= i[:, None]
    lower, upper = tl.zeros([size], tl.float32), tl.zeros([size], tl.float32)
    for tile in range(apart, length // size):
        rows = head * length + tile * size + i
        keys = (keys_head * length + (tile - apart) * size + i)[:, None] * width + d[None, :]
        queries = rows[:, None] * width + d[None, :]
        logits = tl.dot(tl.load(q + queries), tl.trans(tl.load(k + keys)), input_precision="ieee")
        weights = tl.exp(logits * scale + offset - tl.load(lse + rows)[:, None])
        received = tl.dot(tl.load(gradient + queries), tl.trans(tl.load(v + keys)), input_precision="ieee")
        change = tl.gather(weights * (received - tl.load(weighed + rows)[:, None]), turned, 1)
        lower += tl.sum(tl.where(is_lower, change, 0.0), 0)
        upper += tl.sum(tl.where(is_lower, 0.0, change), 0)
    place = sums + (head * tl.num_programs(0) + apart) * 2 * size + i
    tl.store(place, lower)
    tl.store(place + size, upper)
