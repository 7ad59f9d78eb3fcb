"""Learned absolute positions (Gehring et al., 2017, https://arxiv.org/abs/1705.03122), as in GPT-2.

There is no vector past the last one trained, so the method is undefined there.
"""

import torch
from torch import nn

from models.bounds import Factor
from models.effect import Effect, Encoding, Positions
from models.initial import spread


class Learned(Encoding):
    """`factor`: how many times the training length has a vector; above 1 only for randomized positions."""

    relative = False

    def __init__(self, width: int, length: int, factor: Factor = 1.0) -> None:
        super().__init__()
        self.limit = int(factor * length)
        self.table = nn.Parameter(spread(width) * torch.randn(self.limit, width))

    def forward(self, positions: Positions) -> Effect:
        vectors = self.table[positions.at].float()  # (T, C)
        return Effect(positions, embed=lambda x: (x.float() + vectors).to(x.dtype))
