"""ReRoPE (Su, 2023, https://kexue.fm/archives/9708): every distance from `window` on counts as `window`."""

import torch
from torch import Tensor

from models.extensions.two_regions import TwoRegions


class ReRoPE(TwoRegions):
    """Equation: distance min(i − j, `window`)."""

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        return torch.full_like(at, self.window), torch.zeros_like(at)
