"""YaRN (Peng et al., 2023, https://arxiv.org/abs/2309.00071): slow pairs interpolated, logits sharpened.

A pair that rotates at least `fast` times within the training length is kept, one that rotates at
most `slow` times is divided by `factor`, and those between are mixed. The share of the mixture is
linear in the pair's index as in the authors' code (`index`), or in its number of rotations as in the
paper (`rotations`). q and k are both multiplied by 0.1 ln(factor) + 1. Without that factor, and by
rotations, this is the scaling of Llama 3.1 (Grattafiori et al., 2024, https://arxiv.org/abs/2407.21783).
"""

import math

from torch import Tensor

from conf.errors import UsageError
from models.bounds import Auto, Factor, Positive
from models.extensions.frequencies import Frequencies, index_ramp, interpolate, rotations_ramp


class YaRN(Frequencies):
    """`truncate` puts the ends of the `index` ramp on whole indices. `sharpen` multiplies q and k.

    Equation: θ_f (γ_f/s + 1 − γ_f), and q and k times 0.1 ln s + 1; γ_f is 0 for fast pairs, 1 for slow ones.
    """

    def __init__(
        self,
        length: int,
        factor: Factor | Auto = "auto",
        fast: Positive = 32.0,
        slow: Positive = 1.0,
        ramp: str = "index",
        truncate: bool = True,
        sharpen: bool = True,
    ) -> None:
        super().__init__(length, factor)
        if ramp not in ("index", "rotations"):
            raise UsageError(f"extension.ramp={ramp} must be index or rotations.")
        self.fast, self.slow, self.ramp = fast, slow, ramp
        self.truncate, self.sharpen = truncate, sharpen

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        if self.ramp == "rotations":
            share = rotations_ramp(self.fast, self.slow, frequencies, self.length)
        else:
            pairs = frequencies.numel()
            share = index_ramp(self.fast, self.slow, pairs, base, self.length, self.truncate)
        return interpolate(frequencies, share, factor)

    def magnitude(self, factor: float) -> float:
        return 0.1 * math.log(factor) + 1 if self.sharpen else 1.0
