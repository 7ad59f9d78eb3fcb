"""Learned absolute positions (Gehring et al., 2017, https://arxiv.org/abs/1705.03122; GPT-2): one vector a position.

There is no vector past the training length, so the method is undefined there.
"""

import torch
from torch import nn

from models.effect import Effect, Encoding, Positions


class Learned(Encoding):
    relative = False

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.limit = length
        self.table = nn.Parameter(0.02 * torch.randn(length, width))

    def forward(self, positions: Positions) -> Effect:
        vectors = self.table[positions.at]  # (T, C)
        return Effect(positions, embed=lambda x: x + vectors)
