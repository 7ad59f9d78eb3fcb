"""Log-n (Chiang and Cholak, 2022, https://arxiv.org/abs/2202.12172; Su, https://kexue.fm/archives/8823).

The logits of a query that sees more keys than in training are scaled by the logarithm of their number.
"""

import math

from models.change import Before, Change, Stage
from models.effect import Effect, Positions
from models.options.ssmax import visible_keys


class LogN(Change):
    """Equation: max(1, ln n_i / ln L) q_i·k_j/√D, with n_i the number of visible keys."""

    stage = Stage.TEMPERATURE

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, positions: Positions, before: Before) -> Effect:
        effect = before.at(positions)
        growth = (visible_keys(effect).log() / math.log(self.length)).clamp(min=1)  # (1 or H, T)
        return effect.scale_logits(growth)
