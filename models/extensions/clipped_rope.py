"""Clipped RoPE (2026, https://arxiv.org/abs/2602.05258, which calls it CoPE): the slowest pairs fade out.

The pairs that complete no turn within the training length lose speed along a cosine, from the first, which
keeps its own, to the last, which stands still; `hard` stops them all.
"""

import math

import torch
from torch import Tensor

from models.bounds import Auto, Count
from models.extensions.frequencies import Frequencies


class ClippedRoPE(Frequencies):
    """`clipped`: the number of pairs; auto: those that complete no turn (the authors: 20 of 64).

    Equation: θ_f (1 + cos(π c/(C − 1)))/2 for c = 0 … C − 1 of the C slowest pairs; the others keep θ_f.
    """

    def __init__(self, length: int, clipped: Count | Auto = "auto", hard: bool = False) -> None:
        super().__init__(length, factor=1.0)
        self.clipped, self.hard = clipped, hard

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        slow = (frequencies * self.length < 2 * math.pi).sum()
        count = slow if self.clipped == "auto" else slow.new_tensor(int(self.clipped))
        pair = torch.arange(frequencies.numel(), device=frequencies.device)
        place = pair - (frequencies.numel() - count)  # among those that are clipped
        fade = (1 + (math.pi * place.to(frequencies) / (count - 1).clamp(min=1)).cos()) / 2
        return frequencies * torch.where(place < 0, 1, 0 if self.hard else fade)
