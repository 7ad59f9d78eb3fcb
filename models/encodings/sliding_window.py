"""Sliding-window attention around any encoding (Beltagy et al., 2020, https://arxiv.org/abs/2004.05150).

Past the window nothing is seen, so no distance is ever longer than in training; what is
further back comes through the layers.
"""

from collections.abc import Sequence
from dataclasses import replace

from models.effect import Effect, Encoding, Positions, Window
from models.extension import narrowed


class SlidingWindow(Encoding):
    """Keys less than `window` away are seen; `auto` is half the training length."""

    def __init__(self, inner: Encoding, length: int, window: int | str = "auto") -> None:
        super().__init__()
        self.inner, self.window = inner, max(1, length // 2) if window == "auto" else int(window)
        self.inherit(inner)

    def forward(self, positions: Positions) -> Effect:
        effect = self.inner.at(positions)
        return replace(effect, visible=narrowed(effect.visible, Window(self.window)))

    @property
    def inside(self) -> Sequence[Encoding]:
        return (self.inner,)

    def around(self, inside: Sequence[Encoding]) -> "SlidingWindow":
        return SlidingWindow(inside[0], 0, self.window)
