"""The blocks of queries and keys that FlexAttention computes, from the ends of the blocks alone.

Positions increase along a sequence, so the least and the greatest distance of two blocks decide for all their
pairs, and nothing of the size T x T is ever made.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from models.attention.plan import Plan
from models.effect import Effect

SIZE = 128  # queries, and keys, of a block


def block_mask(plan: Plan, at: Tensor, visible: Callable) -> BlockMask:
    """Return the mask of positions `at` (T,) or (B, T), T a multiple of 128; `visible` decides about a pair.

    With far regions every key appears once per rotation, as in `flex.rotate_in_regions`.
    """
    is_needed, is_full = block_relations(plan, at)
    partial = is_needed & ~is_full
    sizes = at.size(-1), at.size(-1) * copies(plan.effect)
    return BlockMask.from_kv_blocks(
        *indices(partial), *indices(is_full), BLOCK_SIZE=SIZE, mask_mod=visible, seq_lengths=sizes
    )


def block_relations(plan: Plan, at: Tensor) -> tuple[Tensor, Tensor]:
    """Return the blocks (B or 1, 1, R, K) with visible pairs, and those without hidden pairs."""
    effect, length = plan.effect, plan.positions.length
    ends = at.unflatten(-1, (-1, SIZE))[..., :: SIZE - 1]  # (B or none, R, 2)
    ends = ends if ends.dim() == 3 else ends[None]
    first, last = ends.unbind(-1)
    nearest = first[:, :, None] - last[:, None]  # (B, R, K): the least distance of a query to a key
    farthest = last[:, :, None] - first[:, None]
    index = torch.arange(ends.size(1), device=at.device)
    rows, keys = index[:, None], index
    is_needed = rows >= keys if plan.causal else keys * SIZE < length
    is_full = rows > keys if plan.causal else (keys + 1) * SIZE <= length
    is_needed, is_full = is_needed.expand_as(nearest), is_full.expand_as(nearest)
    if effect.visible is not None:
        width, sinks = effect.visible.width, effect.visible.sinks  # keys ahead are as far as those behind
        smallest = torch.where(
            (nearest <= 0) & (farthest >= 0), 0, torch.minimum(nearest.abs(), farthest.abs())
        )
        largest = torch.maximum(nearest.abs(), farthest.abs())
        is_needed = is_needed & ((smallest < width) | (first[:, None] < sinks))
        is_full = is_full & ((largest < width) | (last[:, None] < sinks))
    if effect.regions is None:
        return is_needed[:, None], is_full[:, None]
    smallest = effect.regions(first[:, :, None], last[:, None])
    largest = effect.regions(last[:, :, None], first[:, None])
    parts = range(copies(effect))  # the farther ones behind
    are_needed = torch.cat([is_needed & (smallest <= part) & (part <= largest) for part in parts], -1)
    are_full = torch.cat([is_full & (smallest == part) & (largest == part) for part in parts], -1)
    return are_needed[:, None], are_full[:, None]


def copies(effect: Effect) -> int:
    """Return the number of copies of the keys, one for each rotation."""
    return 1 if effect.regions is None else 1 + len(effect.regions.rotations)


def indices(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of visible key blocks of each query block, and their indices, first in order."""
    count = blocks.sum(-1, dtype=torch.int32)
    order = blocks.to(torch.int8).argsort(dim=-1, descending=True, stable=True).to(torch.int32)
    return count.contiguous(), order.contiguous()


def pad(length: int) -> int:
    """Return the number of tokens that pad a length to a multiple of 128."""
    return -length % SIZE


def repeat_last(x: Tensor, extra: int) -> Tensor:
    """Return (..., T) with the last entry repeated."""
    return torch.cat([x, x[..., -1:].expand(*x.shape[:-1], extra)], -1) if extra else x
