"""Learned positions, interpolated: between the vectors of the table lie those of a longer sequence.

As in vision transformers on larger images (Dosovitskiy et al., 2020, https://arxiv.org/abs/2010.11929).
"""

import torch

from models.bounds import Auto, Factor
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.learned import Learned
from models.extension import Extension, given_factor
from models.ops.precision import double


class LearnedInterpolated(Extension):
    """`factor`: `auto` lays the ends of the table on the ends of the sequence; a number divides all
    positions."""

    fits = (Learned,)
    encoding: Learned

    def __init__(self, encoding: Encoding, factor: Factor | Auto = "auto") -> None:
        super().__init__(encoding)
        self.factor, last = given_factor(factor), self.encoding.table.size(0) - 1
        self.limit = None if factor == "auto" else round(float(factor) * last) + 1
        self.prefix = self.prefix and factor != "auto"

    def forward(self, positions: Positions) -> Effect:
        table, last = self.encoding.table.float(), self.encoding.table.size(0) - 1
        factor = max(1.0, (positions.span - 1) / last) if self.factor == "auto" else float(self.factor)
        at = (double(positions.at) / factor).clamp(max=last)
        vectors = torch.lerp(table[at.long()], table[at.ceil().long()], (at % 1).float()[:, None])  # (T, C)
        return Effect(positions, embed=lambda x: (x.float() + vectors).to(x.dtype))
