"""Sinusoidal positions (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762), added to the embeddings."""

import torch
from torch import Tensor

from models.bounds import Base, Number
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops.linear import init_std
from models.ops.precision import double


class Sinusoidal(Encoding):
    """`scale`: the amplitude of the waves, in standard deviations of initial token embeddings; in the paper
    both are 1.

    Equation: x_t + scale · [sin(t θ_0), cos(t θ_0), sin(t θ_1), cos(t θ_1), …].
    """

    relative = False

    def __init__(self, width: int, base: Base = 10_000.0, scale: Number = 1.0) -> None:
        super().__init__()
        self.width, self.base, self.amplitude = width, float(base), scale * init_std(width)

    def forward(self, positions: Positions) -> Effect:
        vectors = self.amplitude * waves(positions.at, self.width, self.base)  # (T, C)
        return Effect(positions, embed=lambda x: (x.float() + vectors).to(x.dtype))


def waves(at: Tensor, width: int, base: float) -> Tensor:
    """Return sin, cos, sin, cos, ... of position * base^(-2k / width), (T, width) float32."""
    feature = torch.arange(width, device=at.device)
    angle = double(at)[..., None] * base ** (-double(feature - feature % 2) / width)
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos()).float()
