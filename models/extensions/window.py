"""Window: each token sees the last `window` tokens, by default the training length.

This is the null hypothesis for every claim of extrapolation. Through `depth` layers, information still comes
from depth * window tokens back.
"""

from dataclasses import replace

from models.bounds import Auto, Count, tokens
from models.change import Before, Change, Stage
from models.distance import Window
from models.effect import Effect, Positions


class Windowed(Change):
    """Equation: q_i·k_j/√D if i − j < `window`, else −∞."""

    stage = Stage.VISIBLE
    fits_drawn = False  # positions that skip are no count of tokens

    def __init__(self, length: int, window: Count | Auto = "auto") -> None:
        super().__init__()
        self.window = self.unchanged = tokens("window", window, length)

    def forward(self, positions: Positions, before: Before) -> Effect:
        effect = before.at(positions)
        return replace(effect, visible=Window(self.window).within(effect.visible))
