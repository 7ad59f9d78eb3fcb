"""Schedules: encodings that alternate from layer to layer."""

from collections.abc import Sequence
from typing import cast

from torch import nn

from models.effect import Effect, Positions
from models.encoding import Encoding


class Schedule(Encoding):
    """Encodings that are tiled over the layers, such as three with RoPE and one without any position.

    Equation: the encoding `pattern[l mod n]` in layer l of a pattern of n.
    """

    def __init__(self, pattern: Sequence[Encoding]) -> None:
        super().__init__()
        self.pattern = nn.ModuleList(pattern)
        self.inherit(*pattern)

    def forward(self, positions: Positions) -> Effect:
        """Return the effect of the first layer."""
        return members(self)[0].effect_at(positions)


def members(encoding: Encoding) -> list[Encoding]:
    """Return the encodings that are tiled over the layers."""
    return list(cast(Sequence[Encoding], encoding.pattern)) if isinstance(encoding, Schedule) else [encoding]
