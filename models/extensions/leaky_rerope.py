"""Leaky ReRoPE (Su, 2023, https://kexue.fm/archives/9708): past `window`, distances grow more slowly."""

from torch import Tensor

from models.bounds import tokens
from models.extensions.two_regions import Grouped


class LeakyReRoPE(Grouped):
    """Equation: distance d = i − j below w = `window`; w + (d − w)/g beyond, with g = `group`."""

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        beyond, room = span - 1 - self.window, max(1, self.length - 1 - self.window)
        group = tokens("group", self.group, -(-beyond // room))
        return (at + self.window * (group - 1)) / group, at / group
