"""Randomized YaRN (2026, https://arxiv.org/abs/2606.23687): YaRN, trained at positions that are drawn.

While it learns, the tokens of a step stand at a sorted sample of the positions of a context `factor` times
longer; otherwise it is YaRN. The paper lets the training lengths grow as well; here they stay.
"""

from dataclasses import replace

from models.effect import Positions
from models.encodings.randomized import order
from models.extensions.pose import Drawn
from models.extensions.yarn import YaRN


class RandomizedYaRN(Drawn, YaRN):
    """Equation: YaRN's logit; in training, token t stands at the t-th smallest of T positions below s L."""

    def drawn_positions(self, positions: Positions) -> Positions:
        if positions.span > self.target:
            return positions
        hashes = order(self.target, self.seed, positions.draw, positions.at.device)
        at = hashes.argsort()[: positions.span].sort().values
        return replace(positions, at=at[positions.at], span=self.target)
