"""MyBias (authors, year, https://...): logits fall with the logarithm of the distance."""

import torch
from torch import Tensor, nn

from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encoding import Encoding


class MyBias(Encoding):
    def __init__(self, heads: int, start: float = 0.1) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.full((heads, 1), start))

    def forward(self, positions: Positions) -> Effect:
        def bias(distance: Tensor) -> Tensor:  # (N,) -> (H, N)
            return -self.slope.float() * (1 + distance.abs().float()).log()

        return Effect(positions, bias=ByDistance(bias))
