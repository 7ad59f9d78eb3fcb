"""Copying: how far back a target's token last followed the same tokens."""

from itertools import pairwise

import torch
from torch import Tensor

from train.results.protocols import COPYING, Amounts

CONTEXT = 4  # tokens before a target that must recur with it


def copying_masks(tokens: Tensor, amounts: Amounts) -> dict[tuple[str, int], Tensor]:
    """Return for each class and length which of the last targets of windows (N, T + 1) are in it, (N, common)
    bool.

    `copying_512` holds those whose last occurrence is in the text shown, and further back than the next
    shorter length but no more than 512 tokens; `copying_none` holds those without one. Classes without a
    target are left out.
    """
    back = distances_back(tokens)[:, -amounts.common :]
    ends = sorted({amounts.common, *amounts.lengths})
    masks = {}
    for length in amounts.lengths:
        farthest = length - amounts.common + 1 - CONTEXT + torch.arange(amounts.common)  # that is shown
        is_shown = (back > 0) & (back <= farthest)
        masks[f"{COPYING}_none", length] = ~is_shown
        for low, high in pairwise([0, *ends]):
            masks[f"{COPYING}_{high}", length] = is_shown & (back > low) & (back <= high)
    return {key: mask for key, mask in masks.items() if mask.any()}


def distances_back(tokens: Tensor) -> Tensor:
    """Return for each target of (N, T + 1) tokens how many tokens ago it last followed the same CONTEXT
    tokens, (N, T) int64; 0 if never."""
    every = []
    for row in tokens.tolist():
        last: dict[tuple[int, ...], int] = {}
        distances = [0] * (len(row) - 1)
        for t in range(CONTEXT, len(row)):
            gram = tuple(row[t - CONTEXT : t + 1])
            distances[t - 1] = t - last.get(gram, t)
            last[gram] = t
        every.append(distances)
    return torch.tensor(every)
