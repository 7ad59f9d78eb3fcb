"""Dynamic NTK (emozilla, 2023, https://www.reddit.com/r/LocalLLaMA/comments/14mrgpr).

NTK by as much as this sequence needs: `alpha` * T / L - (alpha - 1) for T tokens after training
at L. Up to L it is RoPE.
"""

from torch import Tensor

from models.bounds import Positive
from models.extensions.frequencies import Frequencies
from models.extensions.ntk import ntk


class DynamicNTK(Frequencies):
    """Equation: θ_f a^(−f/(D/2 − 1)), with a = α s − (α − 1) and s = max(1, T/L)."""

    def __init__(self, length: int, alpha: Positive = 1.0) -> None:
        super().__init__(length)
        self.alpha = alpha

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        return ntk(frequencies, self.alpha * factor - (self.alpha - 1))
