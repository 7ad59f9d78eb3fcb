"""NAPE (Vasylenko et al., 2025, https://arxiv.org/abs/2506.16640): half of the heads ALiBi, half nothing.

The first half falls with slopes 1, 1/2, 1/3, ..., as in the authors' code; the other half has no
position and retrieves over any distance. The paper pairs it with a sparse softmax; this is its
position alone.
"""

import torch
from torch import Tensor

from models.effect import Curve, Effect, Encoding, Positions


class NAPE(Encoding):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, positions: Positions) -> Effect:
        slope = slopes(self.heads).to(positions.at.device)[:, None]  # (H, 1)
        return Effect(positions, bias=Curve(lambda distance: -slope * distance.abs()))


def slopes(heads: int) -> Tensor:
    """(H,) 1, 1/2, ..., 2/H, 0, ..., 0"""
    head = torch.arange(1, heads + 1)
    return torch.where(head <= heads // 2, 1 / head, 0)
