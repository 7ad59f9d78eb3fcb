"""Self-Extend (Jin et al., 2024, https://arxiv.org/abs/2401.01325): far tokens share positions in groups.

A key less than `window` back is seen at its distance; any other at i // group - j // group, shifted
by window - window // group so that the two regions meet.
"""

from itertools import count

from torch import Tensor

from models.bounds import tokens
from models.extensions.two_regions import Grouped


class SelfExtend(Grouped):
    """Equation: distance i − j below w = `window`; ⌊i/g⌋ − ⌊j/g⌋ + w − ⌊w/g⌋ beyond, with g = `group`."""

    relative = False  # which tokens share a group depends on where they stand

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        window, room = self.window, max(self.length, self.window + 1)
        auto = next(g for g in count(1) if (span - 1) // g + window - window // g < room)
        group = tokens("group", self.group, auto)
        return at // group + window - window // group, at // group
