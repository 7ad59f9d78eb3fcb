"""NTK-RoPE-mixed (Su, 2023, https://kexue.fm/archives/9706): RoPE as the digits of a number.

A larger base stretches every digit alike, the mixed form stretches the slow ones more. Pair n,
counted from 1, is divided by exp(a n^power), where a makes the last pair's divisor `factor`.
"""

import torch
from torch import Tensor

from models.bounds import Auto, Factor, Positive
from models.extensions.frequencies import Frequencies
from models.ops.precision import double


class NTKMixed(Frequencies):
    """Equation: θ_f s^(−((f + 1)/(D/2))^`power`)."""

    def __init__(self, length: int, factor: Factor | Auto = "auto", power: Positive = 0.625) -> None:
        super().__init__(length, factor)
        self.power = power

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        pairs = frequencies.numel()
        pair = double(torch.arange(1, pairs + 1))
        return frequencies * factor ** -((pair / pairs) ** self.power)
