"""Random float positions (Shimizu et al., 2026, https://arxiv.org/abs/2602.14050) around any encoding.

Tokens stand at sorted random numbers from one range, in training and in evaluation: longer sequences
are denser, and no position lies outside what was trained. The paper's range is not known to us.
"""

from torch import Tensor

from models.bounds import Auto, Count, Seed
from models.effect import Effect, Encoding, Positions
from models.encodings.randomized import order


class RandomizedFloat(Encoding):
    """`span`: the range, `auto` is the training length. One sample a forward pass, which follows from
    `seed` and the draw alone; the sequences of an evaluation take `draws` in turn."""

    relative = False
    prefix = False

    def __init__(
        self, inner: Encoding, length: int, span: Count | Auto = "auto", draws: Count = 16, seed: Seed = 0
    ) -> None:
        super().__init__()
        self.inner, self.seed = inner, seed
        self.inherit(inner)
        if self.limit is not None:
            raise ValueError(f"{type(inner).__name__} has no position between two whole numbers.")
        self.span, self.draws = length if span == "auto" else int(span), draws

    def forward(self, positions: Positions) -> Effect:
        drawn: Tensor = order(positions.span, self.seed, positions.draw, positions.at.device).sort().values
        at = self.span * drawn.double()[positions.at] / 2**32
        return self.inner.at(Positions(at, self.span, positions.causal, positions.draw))
