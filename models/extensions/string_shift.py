"""STRING (An et al., 2024, https://arxiv.org/abs/2410.18745): near distances in place of rare ones.

Keys at least `window` back count as `window` - `kept` tokens closer, so that a sequence of the training
length uses only distances that training met often. The authors' code counts the key at distance `window`
twice; here it counts once.
"""

import math

from torch import Tensor

from models.bounds import Auto, Count, tokens
from models.extensions.two_regions import TwoRegions


class StringShift(TwoRegions):
    """`window`: auto is a third of the training length, or more where the sequence would exceed it. `kept`:
    the distance at which far keys begin again; auto is 1/64 of the training length. `is_sharpened`: cos and
    sin grow by 0.1 ln 2 + 1, as in the authors' code.

    Equation: distance d = i − j below w = `window`; d − w + `kept` beyond.
    """

    def __init__(
        self,
        length: int,
        window: Count | Auto = "auto",
        kept: Count | Auto = "auto",
        is_sharpened: bool = True,
    ) -> None:
        super().__init__(length, tokens("window", window, length // 3))
        self.kept, self.is_auto = tokens("kept", kept, length // 64), window == "auto"
        self.prefix = window != "auto"
        self.magnitude = 0.1 * math.log(2) + 1 if is_sharpened else 1.0

    def start(self, span: int) -> int:
        needed = span - self.length + self.kept  # so that no distance exceeds the training length
        return max(self.window, needed) if self.is_auto else self.window

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        return at - self.start(span) + self.kept, at
