"""NTK-aware RoPE (bloc97, 2023, https://www.reddit.com/r/LocalLLaMA/comments/14lz7j5): a larger base.

The base grows by factor^(D / (D - 2)), so that the fastest pair keeps its frequency and the
slowest is divided by `factor` exactly.
"""

import torch
from torch import Tensor

from models.extensions.frequencies import Frequencies
from models.ops.precision import double


class NTK(Frequencies):
    """Equation: θ_f s^(−f/(D/2 − 1))."""

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        return ntk(frequencies, factor)


def ntk(frequencies: Tensor, factor: float) -> Tensor:
    """Return the frequencies of the larger base, (D/2,). D = 2 has one pair, which is the fastest."""
    pair = double(torch.arange(frequencies.numel()))
    return frequencies * factor ** (-pair / max(1, frequencies.numel() - 1))
