"""PoPE (Gopalakrishnan et al., 2025, https://arxiv.org/abs/2509.10534): radii carry content, angles position.

Every feature is made positive by a softplus and rotated in a plane of its own, so that a logit is
the sum of softplus(q) softplus(k) cos((j - i) * frequency + delta), delta learned per head.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.bounds import Base
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.rope import angles, geometric


class PoPE(Encoding):
    """Equation: Σ_f softplus(q_if) softplus(k_jf) cos((j − i) θ_f + δ_f) / √D."""

    def __init__(self, heads: int, head_width: int, base: Base = 10_000.0) -> None:
        super().__init__()
        self.head_width, self.base = head_width, float(base)
        self.delta = nn.Parameter(torch.zeros(heads, 1, head_width))

    def forward(self, positions: Positions) -> Effect:
        angle = angles(positions.at, geometric(2 * self.head_width, self.base)).float()  # (T, D)
        angle = angle if angle.dim() == 2 else angle.unsqueeze(1)  # (B, 1, T, D)
        delta = self.delta.float()
        # clamped to -2 pi to 0, where it starts; the gradient is not, or half of the deltas would stay at 0
        delta = delta + (delta.clamp(-2 * math.pi, 0) - delta).detach()

        of_q, of_k = [(a.cos(), a.sin()) for a in (angle, angle + delta)]

        def rotate(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
            return polar(q, *of_q), polar(k, *of_k)

        return Effect(positions, rotate=rotate)


def polar(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return softplus(x) of x (B, H, T, D) at angles whose cos and sin are (T, D), (H, T, D) or
    (B, H or 1, T, D) float32: (B, H, T, 2D), a cosine and a sine for each feature."""
    radius = F.softplus(x.float())
    return torch.stack([radius * cos, radius * sin], dim=-1).flatten(-2).to(x.dtype)
