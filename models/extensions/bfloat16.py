"""Positions in bfloat16 (Wang et al., 2024, https://arxiv.org/abs/2411.13476), as in much published code.

Of the whole numbers, bfloat16 has all up to 256, every second one up to 512, every fourth up to
1,024, and so on. What a cast costs depends on where it comes: `positions` before anything is made
of them, `distances` after the subtraction (ALiBi in GPT-NeoX, KERPLE, DAPE), `frequencies` of RoPE
(a model's cast reaches its buffers), `biases` and cumulative sums last.
"""

from dataclasses import replace

import torch
from torch import Tensor

from models.effect import (
    Adjust,
    ByPair,
    Content,
    Curve,
    Effect,
    Encoding,
    Positions,
    Potential,
    Rotate,
    Surface,
    Values,
)
from models.encodings.learned import Learned
from models.encodings.rope import RoPE
from models.extension import Extension

PLACES = ("positions", "distances", "frequencies", "biases")


class BFloat16(Extension):
    """`what`: all, or which of positions, distances, frequencies and biases are rounded, joined by `+`."""

    def __init__(self, encoding: Encoding, what: str = "all") -> None:
        super().__init__(encoding)
        self.what = PLACES if what == "all" else tuple(what.split("+"))
        for place in self.what:
            if place not in PLACES:
                raise ValueError(f"extension.what is '{place}', but it is all, or of: {', '.join(PLACES)}.")
        self.relative = self.relative and "positions" not in self.what

    @classmethod
    def fits_to(cls, encoding: Encoding) -> bool:
        """Not to tables, which are read by whole numbers; of wrappers, to what is inside."""
        return not encoding.inside and encoding.draws == 1 and not isinstance(encoding, Learned)

    def forward(self, positions: Positions) -> Effect:
        at = rounded(positions.at) if "positions" in self.what else positions.at
        highest = 1 << (positions.span - 1).bit_length()  # rounding goes up as well, at most to there
        told = replace(positions, at=at, span=highest + 1)
        effect = self.encoding(told)
        if isinstance(self.encoding, RoPE):
            effect = replace(effect, rotate=self.rotation(self.encoding, told))
        return replace(
            effect,
            positions=positions,
            factor=effect.factor and Surface(self.by_pair(effect.factor, told)),
            bias=effect.bias and Surface(self.by_pair(effect.bias, told)),
            potential=effect.potential and self.cumulative(effect.potential),
            phase=effect.phase and self.cumulative(effect.phase),
            adjust=effect.adjust and Adjust(self.content(effect.adjust.of)),  # a border would not hold
            values=effect.values and self.values(effect.values),
        )

    def rotation(self, rope: RoPE, positions: Positions) -> Rotate:
        """RoPE's; where positions and frequencies are bfloat16, so is their product."""
        low, high = torch.bfloat16, torch.float64
        at = positions.at.to(low if "positions" in self.what else high)
        frequencies = rope.frequencies().to(at.device, low if "frequencies" in self.what else high)
        angle = (at[..., None] * frequencies).double()  # (T, D/2)
        return rope.rotation(angle, angle)

    def pair(self, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
        """Where a query and a key seem to stand."""
        if "positions" in self.what:
            i, j = rounded(i), rounded(j)
        return (i, i - rounded(i - j)) if "distances" in self.what else (i, j)

    def last(self, value: Tensor) -> Tensor:
        return rounded(value) if "biases" in self.what else value

    def by_pair(self, inner: Curve | Surface, positions: Positions) -> ByPair:
        looked_up = inner.tabulated(positions) if isinstance(inner, Curve) else inner
        return lambda i, j: self.last(looked_up(*self.pair(i, j)))

    def cumulative(self, inner: Potential) -> Potential:
        return lambda x: self.last(inner(x))

    def content(self, inner: Content) -> Content:
        return lambda logits, q, k, i, j: inner(logits, q, k, *self.pair(i, j))

    def values(self, inner: Values) -> Values:
        return lambda weights, i, j: inner(weights, *self.pair(i, j))


def rounded(x: Tensor) -> Tensor:
    """The nearest bfloat16, as a number of x's own kind; the gradient passes as if nothing had happened."""
    nearest = x.detach().bfloat16().to(x.dtype)
    return x + (nearest - x.detach()) if x.requires_grad else nearest
