"""Relative positions of Shaw et al. (2018, https://arxiv.org/abs/1803.02155): a learned vector a distance.

The vector is added to the key, before the scaling by 1/sqrt(D); all heads share it. The
paper's second table, added to the values, is off by default: it changed little in the paper.
"""

import torch
from torch import Tensor, nn

from models.bounds import Count
from models.effect import Adjust, Effect, FarKeys, Positions
from models.encoding import Encoding


class Shaw(Encoding):
    """`reach`: distances beyond it share a vector, which is how the method extrapolates. `value_term` adds
    the second table.

    Equation: q_i·(k_j + e(max(j − i, −reach)))/√D, with a learned vector e for each distance.
    """

    needs_whole = True

    def __init__(self, head_width: int, reach: Count = 20, value_term: bool = False) -> None:
        super().__init__()
        self.reach = reach
        self.table = glorot(2 * reach + 1, head_width)
        self.value_table = glorot(2 * reach + 1, head_width) if value_term else None

    def forward(self, positions: Positions) -> Effect:
        values = None if self.value_table is None else self.values
        return Effect(
            positions, adjust=Adjust(self.adjust, FarKeys(self.reach, self.furthest)), values=values
        )

    def adjust(self, logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        scores = q @ self.table.to(q.dtype).mT * q.size(-1) ** -0.5  # (B, H, R, 2 reach + 1)
        return logits + scores.gather(-1, self.index(i, j).expand(logits.shape))

    def furthest(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Return q and k for keys at least `reach` back: all of them have the first vector."""
        return q, k + self.table[0].to(k.dtype)

    def values(self, weights: Tensor, i: Tensor, j: Tensor) -> Tensor:
        assert self.value_table is not None
        share = weights.new_zeros(*weights.shape[:-1], self.value_table.size(0))  # (B, H, R, 2 reach + 1)
        share = share.scatter_add(-1, self.index(i, j).expand(weights.shape), weights)
        return share @ self.value_table.to(share.dtype)

    def index(self, i: Tensor, j: Tensor) -> Tensor:
        """Return the table row that each pair reads, (R, K)."""
        return (j - i).clamp(-self.reach, self.reach) + self.reach


def glorot(rows: int, width: int) -> nn.Parameter:
    limit = (6 / (rows + width)) ** 0.5
    return nn.Parameter(torch.empty(rows, width).uniform_(-limit, limit))
