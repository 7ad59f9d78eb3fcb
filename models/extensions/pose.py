"""PoSE (Zhu et al., 2023, https://arxiv.org/abs/2309.10400): fine-tuning on short texts at distant positions.

While it learns, each sequence stands in two pieces, the second further out by a random skip, so that
every distance up to `factor` training lengths is met; otherwise it is position interpolation. Pieces and
skips are drawn as in the authors' revised code. They skip text as well; here it is contiguous.
"""

from dataclasses import replace

import torch
from torch import Tensor

from conf.errors import UsageError
from models.bounds import Factor, Seed
from models.change import Before, Stage
from models.effect import Effect, Positions
from models.encodings.randomized import order
from models.extensions.frequencies import Frequencies
from models.extensions.pi import PI


class Drawn(Frequencies):
    """The base of the extensions that learn at positions drawn below a target length. `factor`: a number,
    because training must know the target."""

    stage = Stage.POSITIONS

    def __init__(self, length: int, factor: Factor = 8.0, seed: Seed = 0) -> None:
        if isinstance(factor, str):
            raise UsageError(f"extension.factor={factor} must be a number: training needs one target.")
        super().__init__(length, factor)
        self.target, self.seed = round(factor * length), seed

    def forward(self, positions: Positions, before: Before) -> Effect:
        return super().forward(self.drawn_positions(positions) if self.training else positions, before)

    def drawn_positions(self, positions: Positions) -> Positions:
        """Return the positions at which it learns."""
        raise NotImplementedError


class PoSE(Drawn, PI):
    """Equation: θ_f/s; in training, positions t for t < m and t + skip from m on, with m and skip drawn."""

    def drawn_positions(self, positions: Positions) -> Positions:
        """Return positions (B, T): the first piece, at most half, stays; the second moves, up to the target
        length."""
        length, device = positions.length, positions.at.device
        numbers = positions.sequences
        shares = order(2 * numbers.stop, self.seed, positions.draw, device) / 2**32  # two for each sequence
        shares = shares.view(-1, 2, 1)[numbers.start :: numbers.step].transpose(0, 1)  # (2, B, 1)
        first = 1 + (shares[0] * ((length + 1) // 2)).long()  # (B, 1)
        skip: Tensor = (shares[1] * (max(0, self.target - length) + 1)).long()
        at = positions.at + torch.where(torch.arange(length, device=device) < first, 0, skip)
        return replace(positions, at=at, span=max(self.target, positions.span))
