"""Leaky ReRoPE (Su, 2023, https://kexue.fm/archives/9708): past `window`, distances grow slower."""

from torch import Tensor

from models.effect import Encoding
from models.extension import tokens
from models.extensions.two_regions import TwoRegions


class LeakyReRoPE(TwoRegions):
    """`group`: `auto` is the smallest for which no distance is longer than those of training."""

    def __init__(
        self, encoding: Encoding, length: int, window: int | str = "auto", group: int | str = "auto"
    ) -> None:
        super().__init__(encoding, length, window)
        self.group = group
        self.prefix = self.prefix and group != "auto"

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        room = max(1, self.length - 1 - self.window)
        group = tokens("group", self.group, -((self.window + 1 - span) // room))
        return (at + self.window * (group - 1)) / group, at / group
