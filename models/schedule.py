"""Wrappers: encodings around one other, whose effect they change, or around several that layers alternate."""

from collections.abc import Sequence
from copy import copy
from typing import Self, cast

from torch import nn

from models.effect import Effect, Positions
from models.encoding import Around, Encoding


class Wrapper(Around):
    """An encoding around another one, to which extensions apply in its place."""

    @property
    def inside(self) -> Sequence[Encoding]:
        return (self.inner,)

    def around(self, inside: Sequence[Encoding]) -> Self:
        outer = copy(self)
        outer._modules = {**self._modules, "inner": inside[0]}
        outer.inherit(*inside)
        return outer


class Schedule(Encoding):
    """Encodings that are tiled over the layers, such as three with RoPE and one without any position."""

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
        """Return the effect of the first layer."""
        return self.inside[0].effect_at(positions)


def members(encoding: Encoding) -> list[Encoding]:
    """Return the encodings that are tiled over the layers."""
    return list(encoding.inside) if isinstance(encoding, Schedule) else [encoding]
