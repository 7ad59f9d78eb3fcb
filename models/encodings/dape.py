"""DAPE (Zheng et al., 2024, https://arxiv.org/abs/2405.14722): a bias by distance, adapted to the content.

For each pair a small network reads the logits and the biases of all heads, and says what to add to them.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from models.effect import Effect, Encoding, Positions
from models.precision import linear32


class DAPE(Encoding):
    """Around an encoding whose effect is a bias."""

    def __init__(self, inner: Encoding, heads: int, hidden: int = 32) -> None:
        super().__init__()
        self.inner = inner
        self.inherit(inner)
        self.read, self.write = nn.Linear(2 * heads, hidden), nn.Linear(hidden, heads)

    def forward(self, positions: Positions) -> Effect:
        bias = self.inner.at(positions).bias
        if bias is None:
            raise ValueError(
                f"DAPE adapts a bias, {type(self.inner).__name__} has none: wrap one such as KERPLE."
            )

        def adjust(logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
            content = logits.float().masked_fill(logits == float("-inf"), 0)
            position = bias(i, j).expand_as(logits)
            both = torch.cat([content, position], dim=1).movedim(1, -1)  # (B, R, K, 2H)
            change = linear32(leaky_relu(linear32(both, self.read)), self.write)
            return logits + (position + change.movedim(-1, 1)).to(logits.dtype)

        return Effect(positions, adjust=adjust)
