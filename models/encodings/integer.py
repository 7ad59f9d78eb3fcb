"""The position itself, a number, added to every feature of the embedding: the obvious idea.

The same number on all features is removed by LayerNorm, exactly: with `model.norm=layer` this
is NoPE. Under RMSNorm it drowns the content, the more the later the token.
"""

from models.bounds import Number, Positive
from models.effect import Effect, Positions
from models.encoding import Encoding


class Integer(Encoding):
    """Equation: x_t + `step` (`start` + t)."""

    relative = False

    def __init__(self, step: Positive = 1.0, start: Number = 1.0) -> None:
        super().__init__()
        self.step, self.start = step, start

    def forward(self, positions: Positions) -> Effect:
        numbers = self.step * (self.start + positions.at.float())[..., None]  # (T, 1)
        return Effect(positions, embed=lambda x: (x.float() + numbers).to(x.dtype))
