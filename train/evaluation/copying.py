"""Copying, observed and prevented.

A target can be copied from where its token last followed the same tokens. Losses by how far back that is show
how much copying there is. Other text in place of these occurrences prevents it: a gain from longer context
that goes with them was copying. Other text at other places, somewhat less of it, shows what replaced text
costs by itself.
"""

from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from data.source import Windows
from train.results.protocols import COPYING, REPLACED, REPLACED_ELSEWHERE, Amounts

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


def replaced_windows(windows: Windows, amounts: Amounts) -> dict[str, Windows]:
    """Return the windows (N, T + 1) under each protocol that replaces text.

    The last two training lengths stay as they are: all targets, and all that a crop shows them. Other text is
    that of the window before, at the same places.
    """
    copies = earlier_copies(windows.tokens, amounts.common)
    other_places = copies.roll(1, 0) & ~copies
    others = windows.tokens.roll(1, 0)
    return {
        name: replace(windows, tokens=torch.where(mask, others, windows.tokens))
        for name, mask in ((REPLACED, copies), (REPLACED_ELSEWHERE, other_places))
    }


def earlier_copies(tokens: Tensor, common: int) -> Tensor:
    """Return which of the tokens (N, T + 1) are in an earlier occurrence of one of the last `common` tokens
    after the same CONTEXT tokens, and before the last 2 `common` tokens, (N, T + 1) bool."""
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    for row, is_copy in zip(tokens.tolist(), mask, strict=True):
        scored = {tuple(row[t - CONTEXT : t + 1]) for t in range(len(row) - common, len(row))}
        for t in range(CONTEXT, len(row) - 2 * common):
            if tuple(row[t - CONTEXT : t + 1]) in scored:
                is_copy[t - CONTEXT : t + 1] = True
    return mask
