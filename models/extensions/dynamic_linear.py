"""Dynamic linear scaling (emozilla, 2023, https://www.reddit.com/r/LocalLLaMA/comments/14mrgpr).

Positions are squeezed into the training length, by as much as this sequence needs and no more.
"""

from torch import Tensor

from models.extensions.frequencies import Frequencies


class DynamicLinear(Frequencies):
    def __init__(self, length: int) -> None:
        super().__init__(length)

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        return frequencies / factor
