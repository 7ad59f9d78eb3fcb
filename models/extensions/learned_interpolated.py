"""Learned positions, interpolated: between the vectors of the table lie those of a longer sequence.

As in vision transformers on larger images (Dosovitskiy et al., 2020, https://arxiv.org/abs/2010.11929).
"""

from typing import cast

import torch

from models.bounds import Auto, Factor, given_factor
from models.change import Before, Change, Stage, base_and_changes
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.learned import Learned
from models.ops.precision import double


class LearnedInterpolated(Change):
    """`factor`: `auto` lays the ends of the table on the ends of the sequence; a number divides all
    positions.

    Equation: x_t + e(t/s), linear between the two nearest vectors of the table.
    """

    stage = Stage.POSITIONS
    fits = (Learned,)

    def __init__(self, encoding: Encoding, factor: Factor | Auto = "auto") -> None:
        super().__init__()
        base, _ = base_and_changes(encoding)
        self.factor, last = given_factor(factor), cast(Learned, base).table.size(0) - 1
        self.limit = None if factor == "auto" else round(float(factor) * last) + 1
        self.prefix = factor != "auto"

    def limit_after(self, limit: int | None) -> int | None:
        return self.limit

    def forward(self, positions: Positions, before: Before) -> Effect:
        table = cast(Learned, before.base).table.float()
        last = table.size(0) - 1
        factor = max(1.0, (positions.span - 1) / last) if self.factor == "auto" else float(self.factor)
        at = (double(positions.at) / factor).clamp(max=last)
        vectors = torch.lerp(table[at.long()], table[at.ceil().long()], (at % 1).float()[:, None])  # (T, C)
        return Effect(positions, embed=lambda x: (x.float() + vectors).to(x.dtype))
