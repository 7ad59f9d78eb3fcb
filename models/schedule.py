"""A schedule: layers that alternate, such as three with RoPE and one without any position."""

from collections.abc import Sequence
from typing import cast

from torch import nn

from models.effect import Effect, Encoding, Positions


class Schedule(Encoding):
    """Encodings that are tiled over the layers."""

    def __init__(self, pattern: Sequence[Encoding]) -> None:
        super().__init__()
        self.pattern = nn.ModuleList(pattern)
        self.inherit(*pattern)

    @property
    def inside(self) -> Sequence[Encoding]:
        return cast(Sequence[Encoding], list(self.pattern))

    def around(self, inside: Sequence[Encoding]) -> "Schedule":
        return Schedule(inside)

    def forward(self, positions: Positions) -> Effect:
        """What the first layer does."""
        return self.inside[0].at(positions)
