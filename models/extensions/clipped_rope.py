"""Clipped RoPE (2026, https://arxiv.org/abs/2602.05258, which calls it CoPE): the slowest pairs fade out.

The pairs that complete no turn within the training length lose speed along a cosine, from the first, which
keeps its own, to the last, which stands still; `hard` stops them all.
"""

import math

import torch
from torch import Tensor

from models.bounds import Auto, Count
from models.encoding import Encoding
from models.extensions.frequencies import Frequencies
from models.ops.precision import double


class ClippedRoPE(Frequencies):
    """`clipped`: the number of pairs; auto: those that complete no turn (the authors: 20 of 64)."""

    def __init__(
        self, encoding: Encoding, length: int, clipped: Count | Auto = "auto", hard: bool = False
    ) -> None:
        super().__init__(encoding, length, factor=1.0)
        self.clipped, self.hard = clipped, hard

    def scaled(self, frequencies: Tensor, factor: float) -> Tensor:
        slow = int((frequencies * self.length < 2 * math.pi).sum())
        count = min(slow if self.clipped == "auto" else int(self.clipped), frequencies.numel())
        fade = double(torch.zeros(count)) if self.hard else (1 + (math.pi * ramp(count)).cos()) / 2
        return torch.cat(
            [
                frequencies[: frequencies.numel() - count],
                frequencies[-count:] * fade if count else frequencies[:0],
            ]
        )


def ramp(count: int) -> Tensor:
    """Return 0 to 1 in equal steps, (count,)."""
    return double(torch.arange(count)) / max(1, count - 1)
