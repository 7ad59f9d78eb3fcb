"""Learned absolute positions (Gehring et al., 2017, https://arxiv.org/abs/1705.03122), as in GPT-2.

No vector was trained past the training length, so the method is undefined there.
"""

import torch
from torch import nn

from models.bounds import Factor
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops.linear import init_std


class Learned(Encoding):
    """`factor`: the number of vectors, in training lengths; above 1 only for randomized positions.

    Equation: x_t + e_t, with a learned vector e_t for each position.
    """

    relative = False

    def __init__(self, width: int, length: int, factor: Factor = 1.0) -> None:
        super().__init__()
        self.limit = round(factor * length)
        self.table = nn.Parameter(init_std(width) * torch.randn(self.limit, width))

    def forward(self, positions: Positions) -> Effect:
        vectors = self.table[positions.at].float()  # (T, C)
        return Effect(positions, embed=lambda x: (x.float() + vectors).to(x.dtype))
