"""Randomized YaRN (2026, https://arxiv.org/abs/2606.23687): YaRN, trained at positions that are drawn.

While it learns, the tokens of a step stand at a sorted sample of the positions of a context `factor` times
longer; otherwise it is YaRN. The paper lets the training lengths grow as well; here they stay.
"""

from dataclasses import replace

from conf.errors import UsageError
from models.bounds import Factor, Seed
from models.change import Before, Stage
from models.effect import Effect, Positions
from models.encodings.randomized import order
from models.extensions.yarn import YaRN


class RandomizedYaRN(YaRN):
    """`factor`: a number, because training must know the target length.

    Equation: YaRN's logit; in training, token t stands at the t-th smallest of T positions drawn below s L.
    """

    stage = Stage.POSITIONS

    def __init__(self, length: int, factor: Factor = 8.0, seed: Seed = 0) -> None:
        if isinstance(factor, str):
            raise UsageError(f"extension.factor={factor} must be a number: training needs one target.")
        super().__init__(length, factor)
        self.target, self.seed = round(factor * length), seed

    def forward(self, positions: Positions, before: Before) -> Effect:
        if self.training and positions.span <= self.target:
            hashes = order(self.target, self.seed, positions.draw, positions.at.device)
            drawn = hashes.argsort()[: positions.span].sort().values
            positions = replace(positions, at=drawn[positions.at], span=self.target)
        return super().forward(positions, before)
