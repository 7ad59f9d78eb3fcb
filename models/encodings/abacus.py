"""Abacus embeddings (McLeish et al., 2024, https://arxiv.org/abs/2405.17399): positions that the data give.

A learned vector for the place of a digit in its number is added to its embedding; other tokens have place 0.
With other places from the data this is position coupling (Cho et al., 2024, https://arxiv.org/abs/2405.20671).
"""

from dataclasses import replace

import torch
from torch import nn

from models.bounds import Count
from models.effect import Effect, Positions
from models.encoding import Around, Encoding
from models.ops.linear import init_std


class Abacus(Around):
    """`rows`: places that have a vector. `inner` acts at the ordinary positions. Where the data give no
    positions, ordinary ones are read.

    Equation: x_t + e(p_t), with p_t the place that the data give to token t.
    """

    relative, needs_whole = False, True

    def __init__(self, inner: Encoding, width: int, rows: Count = 1024) -> None:
        super().__init__(inner)
        self.limit = min(rows, self.limit or rows)
        self.table = nn.Parameter(init_std(width) * torch.randn(rows, width))

    def forward(self, positions: Positions) -> Effect:
        effect = self.inner.effect_at(positions)
        given = positions.at if positions.given is None else positions.given
        vectors = self.table[given].float()  # (T, C) or (B, T, C)

        def embed(x: torch.Tensor) -> torch.Tensor:
            x = x if effect.embed is None else effect.embed(x)
            return (x.float() + vectors).to(x.dtype)

        return replace(effect, embed=embed)
