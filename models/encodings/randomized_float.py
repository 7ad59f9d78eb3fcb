"""Random float positions (Shimizu et al., 2026, https://arxiv.org/abs/2602.14050) around any encoding.

The positions of a sequence are sorted random numbers from one range, in training and in evaluation:
longer sequences are denser, and no position lies outside what was trained. The paper's range is not
known to us.
"""

import torch
from torch import Tensor

from conf.errors import UsageError
from models.encoding import Encoding
from models.encodings.randomized import Randomized, order
from models.ops.precision import double


class RandomizedFloat(Randomized):
    """`span`: the range of positions, `auto` is the training length. The rest is as in Randomized.

    Equation: the encoding inside, with p_t in place of t, where p_0 < p_1 < … are real numbers drawn from [0,
    `span`).
    """

    training_lengths = 1

    def position_limit(self, inner: Encoding) -> None:
        if inner.limit is not None or inner.needs_whole:
            raise UsageError(f"{type(inner).__name__} has no position between two whole numbers.")

    def sample(self, count: int, draw: int, device: torch.device) -> Tensor:
        """Return increasing numbers between 0 and the span, (count,) float64."""
        return self.span * double(order(count, self.seed, draw, device).sort().values) / 2**32
