"""MrRoPE (2026, https://arxiv.org/abs/2601.22181): RoPE as a number whose digits have radices of their own.

Between the last pair with more than 32 turns in the training length and the first with less than one, the
pairs share the factor: evenly (`uniform`), or later pairs take more of it (`progressive`).
"""

import math

import torch
from torch import Tensor

from conf.errors import UsageError
from models.bounds import Auto, Factor
from models.extensions.frequencies import Frequencies


class MrRoPE(Frequencies):
    """Equation: θ_f s^(−r_f), where r_f grows from 0 for fast pairs to 1 for slow ones."""

    def __init__(self, length: int, factor: Factor | Auto = "auto", radix: str = "progressive") -> None:
        super().__init__(length, factor)
        if radix not in ("progressive", "uniform"):
            raise UsageError(f"extension.radix={radix} must be progressive or uniform.")
        self.radix = radix

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        turns = frequencies * self.length / (2 * math.pi)
        last = (turns > 32).sum() - 1  # the last pair with more than 32 turns
        between = ((turns >= 1).sum() - last).clamp(min=1)  # up to the first with less than one
        place = torch.minimum((torch.arange(turns.numel(), device=turns.device) - last).clamp(min=0), between)
        share = place.to(turns) / between
        if self.radix == "progressive":
            share = share * (place + 1) / (between + 1)
        return frequencies * factor**-share
