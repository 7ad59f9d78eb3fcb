"""DroPE (Gelberg et al., 2025, https://arxiv.org/abs/2512.12167): position is removed from a trained model.

What is left is NoPE. It is meant to be followed by a short recalibration: extension.finetune_steps.
"""

from models.change import Before, Change, Stage
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.nope import NoPE


class Drop(Change):
    """Equation: q_i·k_j/√D."""

    stage = Stage.POSITIONS

    def replace_base(self, base: Encoding) -> Encoding:
        return NoPE()

    def forward(self, positions: Positions, before: Before) -> Effect:
        return before.at(positions)
