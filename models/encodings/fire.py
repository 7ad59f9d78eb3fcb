"""FIRE (Li et al., 2023, https://arxiv.org/abs/2310.04418): a small network of distance / position.

The distance is divided by the query's position (both through a logarithm), so that the network
sees numbers from 0 to 1 at any length: it never has to extrapolate.
"""

import torch
from torch import Tensor, nn

from models.bounds import Count, Positive
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops.pairwise_mlp import Surface, at_once, relu_network

TINY = 1e-6  # avoids 0 / 0


class FIRE(Encoding):
    """Positions below a learned threshold, initially the training length, count as the threshold."""

    relative = False

    def __init__(self, heads: int, length: int, hidden: Count = 32, c: Positive = 0.1) -> None:
        super().__init__()
        self.length = length
        self.read, self.write = nn.Linear(1, hidden), nn.Linear(hidden, heads)
        self.c, self.threshold = nn.Parameter(torch.tensor(c)), nn.Parameter(torch.tensor(1.0))

    def forward(self, positions: Positions) -> Effect:
        network = relu_network(self.read, self.write)
        fast = at_once(network, self.c)

        def bias(i: Tensor, j: Tensor) -> Tensor:
            tokens = (self.threshold.float() * self.length).abs()
            threshold = self.psi(torch.maximum(i.float(), tokens)) + TINY
            if fast is not None and i.shape[1:] == j.shape[:-1] == (1,):
                return fast(i, j, threshold)
            return network(self.psi(i.float() - j.float()) / threshold)  # (H, ..., R, K)

        # pairs at once need no memory besides the result
        is_blockwise = fast is not None and positions.at.dim() == 1
        return Effect(positions, bias=Surface(bias) if is_blockwise else bias)

    def psi(self, x: Tensor) -> Tensor:
        return (self.c.float() * x).abs().log1p()
