"""Crop: only the last `length` tokens are seen. The control that every extension must beat."""

from models.change import Before, Change, Stage
from models.effect import Effect, Positions


class Crop(Change):
    """Equation: tokens T − L … T − 1 are the whole input."""

    stage = Stage.VISIBLE
    prefix = False

    def __init__(self, length: int) -> None:
        super().__init__()
        self.context = length

    def forward(self, positions: Positions, before: Before) -> Effect:
        return before.at(positions)
