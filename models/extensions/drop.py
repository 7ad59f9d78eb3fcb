"""DroPE (Gelberg et al., 2025, https://arxiv.org/abs/2512.12167): position is removed from a trained model.

What is left is NoPE. It is meant to be followed by a short recalibration: extension.finetune_steps.
"""

from models.effect import Effect, Layer, Positions
from models.encoding import Encoding
from models.extension import Extension


class Drop(Extension):
    def __init__(self, encoding: Encoding) -> None:
        super().__init__(encoding)
        self.limit, self.relative, self.prefix, self.needs_causal, self.draws = None, True, True, False, 1

    @classmethod
    def fits_to(cls, encoding: Encoding) -> bool:
        return not encoding.inside  # a wrapper's window or temperature stays

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        return effect
