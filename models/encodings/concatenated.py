"""Position concatenated to the embedding, not added: the last features say where, the others what.

The width stays the same, so that all weights keep their shape and the head can stay tied.
Concatenating and projecting back to the width would be addition with a learned map.
"""

import torch

from models.bounds import Base, Number, Share
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.sinusoidal import waves
from models.ops.linear import init_std


class Concatenated(Encoding):
    """`part`: the share of features that carry sinusoids; `scale`: their amplitude, as in Sinusoidal.

    Equation: [x_t without its last features; sin(t θ_f), cos(t θ_f)].
    """

    relative = False

    def __init__(self, width: int, part: Share = 0.25, base: Base = 10_000.0, scale: Number = 1.0) -> None:
        super().__init__()
        self.width, self.base, self.amplitude = round(part * width), float(base), scale * init_std(width)

    def forward(self, positions: Positions) -> Effect:
        vectors = self.amplitude * waves(positions.at, self.width, self.base)  # (T, part of C)
        return Effect(
            positions,
            embed=lambda x: torch.cat(
                [x[..., : x.size(-1) - self.width], vectors.to(x.dtype).expand(*x.shape[:-1], -1)], dim=-1
            ),
        )
