"""Learned positions, interpolated: between the vectors of the table lie those of a longer sequence.

As in vision transformers on larger images (Dosovitskiy et al., 2020, https://arxiv.org/abs/2010.11929).
"""

from torch import Tensor

from models.effect import Effect, Encoding, Positions
from models.encodings.learned import Learned
from models.extension import Extension, given_factor


class LearnedInterpolated(Extension):
    """`auto` lays the ends of the table on the ends of the sequence; a number divides all positions."""

    fits = (Learned,)
    encoding: Learned

    def __init__(self, encoding: Encoding, factor: float | str = "auto") -> None:
        super().__init__(encoding)
        self.factor, last = given_factor(factor), self.encoding.table.size(0) - 1
        self.limit = None if factor == "auto" else int(float(factor) * last) + 1
        self.prefix = self.prefix and factor != "auto"

    def forward(self, positions: Positions) -> Effect:
        table, last = self.encoding.table, self.encoding.table.size(0) - 1
        factor = max(1.0, (positions.span - 1) / last) if self.factor == "auto" else float(self.factor)
        at = (positions.at.double() / factor).clamp(max=last)
        share = (at % 1).to(table.dtype)[:, None]
        before, after = at.long(), at.ceil().long()
        vectors = (1 - share) * table[before] + share * table[after]  # (T, C)

        def embed(x: Tensor) -> Tensor:
            return x + vectors.to(x.dtype)

        return Effect(positions, embed=embed)
