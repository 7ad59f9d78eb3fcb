"""LM-Infinite (Han et al., 2023, https://arxiv.org/abs/2308.16137): the latest tokens and the first.

The first ones, where models leave their attention, are seen at a distance of at most `window`,
which is the training length by default.
"""

from dataclasses import replace

from models.bounds import Auto, Count, Whole
from models.change import Before
from models.distance import Window
from models.effect import Effect, Positions
from models.extensions.rerope import ReRoPE


class LMInfinite(ReRoPE):
    """Equation: distance min(i − j, `window`); key j is visible if i − j < `window` or j < `sinks`."""

    relative = False

    def __init__(self, length: int, window: Count | Auto = "auto", sinks: Whole = 10) -> None:
        super().__init__(length, length if window == "auto" else window)
        self.sinks, self.unchanged = sinks, self.window

    def forward(self, positions: Positions, before: Before) -> Effect:
        effect = super().forward(positions, before)
        return replace(effect, visible=Window(self.window, self.sinks).within(effect.visible))
