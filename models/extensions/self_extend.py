"""Self-Extend (Jin et al., 2024, https://arxiv.org/abs/2401.01325): far tokens share positions in groups.

A key less than `window` back is seen at its distance; any other at i // group - j // group, moved
on by window - window // group so that the two regions meet.
"""

from itertools import count

from torch import Tensor

from models.effect import Encoding
from models.extension import tokens
from models.extensions.two_regions import TwoRegions


class SelfExtend(TwoRegions):
    """`group`: `auto` is the smallest for which no distance is longer than those of training."""

    relative = False  # which tokens share a group depends on where they stand

    def __init__(
        self, encoding: Encoding, length: int, window: int | str = "auto", group: int | str = "auto"
    ) -> None:
        super().__init__(encoding, length, window)
        self.group = group
        self.prefix = self.prefix and group != "auto"

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        window, room = self.window, max(self.length, self.window + 1)
        auto = next(g for g in count(1) if (span - 1) // g + window - window // g < room)
        group = tokens("group", self.group, auto)
        return at // group + window - window // group, at // group
