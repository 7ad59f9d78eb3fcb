"""Copying, by intervention: other text in place of the earlier occurrences of what is scored.

If a gain from longer context goes when these occurrences go, it was copying. Replacing as much text elsewhere
shows what replaced text costs by itself.
"""

from dataclasses import replace

import torch
from torch import Tensor

from data.source import Windows
from train.evaluation.copying import CONTEXT
from train.results.protocols import REPLACED, REPLACED_ELSEWHERE, Amounts


def replaced_windows(windows: Windows, amounts: Amounts) -> dict[str, Windows]:
    """Return the windows (N, T + 1) under each protocol that replaces text.

    The last two training lengths stay as they are: all targets, and all that a crop shows them. Other text is
    that of the window before, at the same places.
    """
    copies = earlier_copies(windows.tokens, amounts.common)
    elsewhere = copies.roll(1, 0) & ~copies
    others = windows.tokens.roll(1, 0)
    return {
        name: replace(windows, tokens=torch.where(mask, others, windows.tokens))
        for name, mask in ((REPLACED, copies), (REPLACED_ELSEWHERE, elsewhere))
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
