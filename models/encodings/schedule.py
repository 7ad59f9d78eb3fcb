"""A schedule: layers that take turns, such as three with RoPE and one without any position."""

from collections.abc import Callable, Sequence
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
    def members(self) -> list[Encoding]:
        return cast(list[Encoding], list(self.pattern))

    def forward(self, positions: Positions) -> Effect:
        """What the first layer does."""
        return self.members[0].at(positions)

    def within(self, change: Callable[[Encoding], Encoding]) -> "Schedule | None":
        changed, any_changed = [], False
        for member in self.members:
            try:
                changed.append(change(member))
                any_changed = True
            except ValueError:
                changed.append(member)
        return Schedule(changed) if any_changed else None
