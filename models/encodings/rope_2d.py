"""Axial RoPE in two dimensions (Heo et al., 2024, https://arxiv.org/abs/2403.13298), for text in rows.

Token t stands in row t // columns and column t % columns; half of the pairs are rotated by the row,
the other half by the column, each with a full range of frequencies.
"""

import torch

from models.bounds import Auto, Base, Count
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.rope import RoPE, angles, geometric


class RoPE2D(Encoding):
    """`columns`: the tokens of a row; by default as many as make the training length a square.

    Equation: RoPE's logit, with the angle ⌊t/columns⌋ θ_f in half of the pairs, (t mod columns) θ_f in the
    others.
    """

    relative = False  # only a shift by whole rows changes nothing
    is_rotary = True

    def __init__(
        self,
        head_width: int,
        length: int,
        base: Base = 10_000.0,
        columns: Count | Auto = "auto",
        layout: str = "interleaved",
    ) -> None:
        super().__init__()
        self.rope = RoPE(4 * (head_width // 4), base, layout=layout)
        self.columns = max(1, round(length**0.5)) if columns == "auto" else int(columns)

    def forward(self, positions: Positions) -> Effect:
        frequencies = geometric(self.rope.rotated // 2, self.rope.base)  # (D/4,)
        rows, columns = positions.at // self.columns, positions.at % self.columns
        angle = torch.cat([angles(rows, frequencies), angles(columns, frequencies)], dim=-1)  # (T, D/2)
        return Effect(positions, rotate=self.rope.rotation(angle, angle))
