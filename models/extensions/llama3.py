"""The RoPE scaling of Llama 3.1 (Grattafiori et al., 2024, https://arxiv.org/abs/2407.21783).

YaRN with its ramp over rotations, without its sharpening: pairs that rotate more than `fast` times within
the training length are kept, and those that rotate less than `slow` times divided by `factor`.
"""

from torch import Tensor

from models.bounds import Auto, Factor, Positive
from models.extensions.frequencies import Frequencies, interpolate, rotations_ramp


class Llama3(Frequencies):
    def __init__(
        self,
        length: int,
        factor: Factor | Auto = "auto",
        fast: Positive = 4.0,
        slow: Positive = 1.0,
    ) -> None:
        super().__init__(length, factor)
        self.fast, self.slow = fast, slow

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        share = rotations_ramp(self.fast, self.slow, frequencies, self.length)
        return interpolate(frequencies, share, factor)
