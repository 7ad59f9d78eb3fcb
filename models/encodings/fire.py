"""FIRE (Li et al., 2023, https://arxiv.org/abs/2310.04418): a small network of distance / position.

The distance is divided by the query's position (both through a logarithm), so that the network
sees numbers from 0 to 1 at any length: it never has to extrapolate.
"""

import torch
from torch import Tensor, nn

from models.effect import Effect, Encoding, Positions, Surface
from models.precision import as_given

PAIRS = 1 << 15  # that the network sees at a time: its hidden layer stays in a processor's cache


class FIRE(Encoding):
    """Positions below a learned threshold, at first the training length, count as the threshold."""

    relative = False

    def __init__(self, heads: int, length: int, hidden: int = 32, c: float = 0.1) -> None:
        super().__init__()
        self.length = length
        self.read, self.write = nn.Linear(1, hidden), nn.Linear(hidden, heads)
        self.c, self.threshold = nn.Parameter(torch.tensor(c)), nn.Parameter(torch.tensor(1.0))

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions, bias=Surface(self.bias))

    def bias(self, i: Tensor, j: Tensor) -> Tensor:
        """(H, R, K), some queries at a time: the hidden layer is many times larger than the result."""
        rows = max(1, PAIRS // j.size(1))
        parts = zip(i.split(rows), j.expand(i.size(0), -1).split(rows), strict=True)
        return torch.cat([self.of(*part) for part in parts], dim=1)

    def of(self, i: Tensor, j: Tensor) -> Tensor:
        threshold = (self.threshold.float() * self.length).abs()
        ratio = self.psi((i - j).float()) / (self.psi(torch.maximum(i.float(), threshold)) + 1e-6)  # (R, K)
        with as_given(i.device):
            hidden = torch.addcmul(column(self.read.bias), self.read.weight.float(), ratio.flatten()).relu_()
            bias = column(self.write.bias) + self.write.weight.float() @ hidden
        return bias.unflatten(-1, ratio.shape)

    def psi(self, x: Tensor) -> Tensor:
        return (self.c.float() * x).abs().log1p()


def column(bias: Tensor) -> Tensor:
    return bias.float()[:, None]
