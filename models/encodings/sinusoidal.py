"""Sinusoidal positions (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762), added to the embeddings."""

import torch
from torch import Tensor

from models.effect import Effect, Encoding, Positions


class Sinusoidal(Encoding):
    """`scale`: the amplitude of the waves. Embeddings start at a standard deviation of 0.02, and
    0.02 is to them what the paper's amplitude of 1 is to its embeddings of standard deviation 1."""

    relative = False

    def __init__(self, width: int, base: float = 10_000.0, scale: float = 0.02) -> None:
        super().__init__()
        self.width, self.base, self.scale = width, float(base), scale

    def forward(self, positions: Positions) -> Effect:
        vectors = self.scale * waves(positions.at, self.width, self.base)  # (T, C)
        return Effect(positions, embed=lambda x: (x.float() + vectors).to(x.dtype))


def waves(at: Tensor, width: int, base: float) -> Tensor:
    """(T, width) float32: sin, cos, sin, cos, ... of position * base^(-2k / width)."""
    feature = torch.arange(width, device=at.device)
    angle = at.double()[:, None] * base ** (-(feature - feature % 2).double() / width)
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos()).float()
