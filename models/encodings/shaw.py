"""Relative positions of Shaw et al. (2018, https://arxiv.org/abs/1803.02155): a learned vector a distance.

The vector is added to the key, before the scaling by 1/sqrt(D); all heads share it. The
paper's second table, added to the values, is left out: it changed little there, and it
needs the attention weights one by one.
"""

import torch
from torch import Tensor, nn

from models.effect import Effect, Encoding, Positions


class Shaw(Encoding):
    """`reach`: distances beyond it share a vector, which is how it extrapolates."""

    def __init__(self, head_width: int, reach: int = 20) -> None:
        super().__init__()
        self.reach = reach
        limit = (6 / (2 * reach + 1 + head_width)) ** 0.5  # Glorot
        self.table = nn.Parameter(torch.empty(2 * reach + 1, head_width).uniform_(-limit, limit))

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions, adjust=self.adjust)

    def adjust(self, logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        scores = q @ self.table.to(q.dtype).mT * q.size(-1) ** -0.5  # (B, H, R, 2 reach + 1)
        index = (j - i).clamp(-self.reach, self.reach) + self.reach  # (R, K)
        return logits + scores.gather(-1, index.expand(logits.shape))
