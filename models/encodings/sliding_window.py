"""Sliding-window attention around any encoding (Beltagy et al., 2020, https://arxiv.org/abs/2004.05150).

Nothing is visible past the window, so that no distance is longer than in training; what is further
back arrives through the layers.
"""

from dataclasses import replace

from models.bounds import Auto, Count
from models.effect import Effect, Positions, Window
from models.encoding import Encoding
from models.schedule import Wrapper


class SlidingWindow(Wrapper):
    """`window`: keys less than `window` away are visible; `auto` is half the training length."""

    def __init__(self, inner: Encoding, length: int, window: Count | Auto = "auto") -> None:
        super().__init__(inner)
        self.window = max(1, length // 2) if window == "auto" else int(window)

    def forward(self, positions: Positions) -> Effect:
        effect = self.inner.effect_at(positions)
        return replace(effect, visible=Window(self.window).within(effect.visible))
