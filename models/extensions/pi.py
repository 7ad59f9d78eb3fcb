"""Position interpolation (Chen et al., 2023, https://arxiv.org/abs/2306.15595): all positions squeezed by `factor`."""

from torch import Tensor

from models.effect import Encoding
from models.extension import times_longer
from models.extensions.frequencies import Frequencies


class PI(Frequencies):
    def __init__(self, encoding: Encoding, length: int, factor: float | str = "auto") -> None:
        super().__init__(encoding)
        self.length, self.factor = length, factor

    def scaled(self, frequencies: Tensor, span: int) -> Tensor:
        return frequencies / times_longer(self.factor, span, self.length)
