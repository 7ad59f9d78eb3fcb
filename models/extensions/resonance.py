"""Resonance RoPE (Wang et al., 2024, https://arxiv.org/abs/2403.00071): wavelengths of whole tokens.

After YaRN, each wavelength is rounded to a whole number of tokens, so that positions past the training
length meet angles that were trained. With `factor: 1` nothing else changes.
"""

import math

import torch
from torch import Tensor

from models.extensions.yarn import YaRN


class Resonance(YaRN):
    """Equation: 2π / round(2π/θ'_f), with θ'_f the frequencies of YaRN."""

    is_plain_at_1 = False

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        changed = super().scaled(frequencies, factor, base)
        turning = torch.where(changed > 0, changed, 1)  # of the pairs that stand still, any
        wavelength = 2 * math.pi / turning
        whole = wavelength + (wavelength.round() - wavelength).detach()  # gradients pass through
        return torch.where(changed > 0, 2 * math.pi / whole, changed)
