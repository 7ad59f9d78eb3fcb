"""DAPE (Zheng et al., 2024, https://arxiv.org/abs/2405.14722): a bias by distance, adapted to the content.

For each pair a small network reads the logits and the biases of all heads, and says what to add to them.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from models.effect import Effect, Encoding, Positions
from models.precision import as_given

PAIRS = 1 << 15  # that the network sees at a time: its hidden layer stays in a processor's cache

UNSEEN = -1e9  # the network needs a finite logit; what it adds to the true one is still minus infinity


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
            content = logits.float().clamp(min=UNSEEN).flatten(2)  # (B, H, R K)
            with as_given(logits.device):
                change = self.network(content, bias(i, j).flatten(1))
            return logits + change.view_as(logits).to(logits.dtype)

        return Effect(positions, adjust=adjust)

    def network(self, content: Tensor, position: Tensor) -> Tensor:
        """(B, H, pairs) from the logits (B, H, pairs) and biases (H, pairs): what is added to the logits;
        some pairs at a time, as the hidden layer is many times larger."""
        count = max(1, PAIRS // content.size(0))
        parts = zip(content.split(count, -1), position.split(count, -1), strict=True)
        return torch.cat([self.change(*part) for part in parts], dim=-1)

    def change(self, content: Tensor, position: Tensor) -> Tensor:
        """What it reads is put together, with ones for its bias, so that the hidden layer is written once."""
        count, position = content.size(0), position.expand(content.size(0), -1, -1)
        read = torch.cat([self.read.weight, self.read.bias[:, None]], dim=1).float()
        given = torch.cat([content, position, torch.ones_like(content[:, :1])], dim=1)  # (B, 2H + 1, pairs)
        hidden = leaky_relu(read.expand(count, -1, -1) @ given, inplace=True)
        unadapted = self.write.bias.float()[:, None] + position
        return torch.baddbmm(unadapted, self.write.weight.float().expand(count, -1, -1), hidden)
