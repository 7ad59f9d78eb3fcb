"""Jet-Long (Tang et al., 2026, https://github.com/jet-ai-projects/Jet-Long): a near and a coarse view.

Past the training length, keys more than `near` back stand at the differences of groups of positions, just
large enough for the sequence; without Self-Extend's shift, so that their distances start again.
"""

from torch import Tensor

from models.bounds import Auto, Count, tokens
from models.extensions.two_regions import TwoRegions


class JetLong(TwoRegions):
    """`near`: the last distance that is kept; auto: 1/16 of the training length.

    Equation: distance i − j up to `near`; ⌊i/g⌋ − ⌊j/g⌋ beyond, with g = ⌈T/L⌉.
    """

    relative = False
    prefix = False

    def __init__(self, length: int, near: Count | Auto = "auto") -> None:
        super().__init__(length, tokens("near", near, length // 16) + 1)

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        group = -(-span // self.length)
        return at // group, at // group
