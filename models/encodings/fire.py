"""FIRE (Li et al., 2023, https://arxiv.org/abs/2310.04418): a small network of distance / position.

The distance is divided by the query's position (both through a logarithm), so that the network
sees numbers from 0 to 1 at any length: it never has to extrapolate.
"""

import torch
from torch import Tensor, nn

from models.bounds import Count, Positive
from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops.precision import is_true
from models.ops.relu_network import relu_network

TINY = 1e-6  # avoids 0 / 0


class FIRE(Encoding):
    """Positions below a learned threshold, initially the training length, count as the threshold.

    Equation: q_i·k_j/√D + MLP(ψ(i − j) / ψ(max(i, threshold))), with ψ(x) = ln(1 + c x).
    """

    relative = False

    def __init__(self, heads: int, length: int, hidden: Count = 32, c: Positive = 0.1) -> None:
        super().__init__()
        self.length = length
        self.read, self.write = nn.Linear(1, hidden), nn.Linear(hidden, heads)
        self.c, self.threshold = nn.Parameter(torch.tensor(c)), nn.Parameter(torch.tensor(1.0))

    def forward(self, positions: Positions) -> Effect:
        network = relu_network(self.read, self.write)
        threshold = (self.threshold.float() * self.length).abs()

        def by_distance(distance: Tensor) -> Tensor:
            return network(self.psi(distance) / (self.psi(threshold) + TINY))  # (H, N)

        def by_pair(i: Tensor, j: Tensor) -> Tensor:
            divisor = self.psi(torch.maximum(i.float(), threshold)) + TINY
            return network(self.psi(i.float() - j.float()) / divisor)  # (H, ..., R, K)

        last = positions.span - 1 if positions.is_whole else positions.span
        shares_divisor = is_true(threshold >= last)  # up to the threshold, so that distances decide
        return Effect(positions, bias=ByDistance(by_distance) if shares_divisor else by_pair)

    def psi(self, x: Tensor) -> Tensor:
        return (self.c.float() * x).abs().log1p()
