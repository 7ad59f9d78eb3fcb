"""Position interpolation (Chen et al., 2023, https://arxiv.org/abs/2306.15595): positions / factor."""

from torch import Tensor

from models.extensions.frequencies import Frequencies


class PI(Frequencies):
    """Equation: θ_f/s."""

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        return frequencies / factor
