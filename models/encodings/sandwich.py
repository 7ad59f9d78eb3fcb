"""Sandwich (Chi et al., 2022, https://arxiv.org/abs/2212.10356): products of sinusoidal embeddings as a bias.

Added after the scaling by 1/sqrt(D). The sum starts at frequency 1 (index 0), as in the paper's
listing; its constant dimensions / 2 is subtracted, which softmax cancels.
"""

import torch
from torch import Tensor

from models.bounds import Base, Count
from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops.precision import double


class Sandwich(Encoding):
    """`dimensions`: of the sinusoidal embedding, the paper's d-bar. The first head decays fastest.

    Equation: q_i·k_j/√D + H/(8h) Σ_f (cos((i − j) θ_f) − 1).
    """

    def __init__(self, heads: int, dimensions: Count = 128, base: Base = 10_000.0) -> None:
        super().__init__()
        self.heads, self.dimensions, self.base = heads, dimensions, float(base)

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions, bias=ByDistance(self.bias))

    def bias(self, distance: Tensor) -> Tensor:
        exponent = double(torch.arange(0, self.dimensions, 2, device=distance.device)) / self.dimensions
        wave = ((double(distance)[:, None] * self.base**-exponent).cos() - 1).sum(-1)  # (N,)
        head = torch.arange(1, self.heads + 1, device=distance.device)
        return (self.heads / (8 * head[:, None]) * wave).float()
