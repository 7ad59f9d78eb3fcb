"""CARoPE (Veisi et al., 2025, https://arxiv.org/abs/2507.23083): RoPE whose angles depend on the tokens.

Each token and head has a frequency f = 1 / (1 + softplus(x w)) in (0, 1); between a key and a query,
pair i is rotated by the sum of f^i over the tokens after the key. How the paper initialises w is not
known to us; here it is normally distributed, as other weights are, which puts f near 0.59.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from models.effect import Effect, Layer, Positions
from models.encoding import Encoding
from models.ops.linear import init_std
from models.ops.precision import double, linear32
from models.ops.rotary import PairRotation


class CARoPE(Encoding):
    """Equation: RoPE's logit, with Σ_{j<t≤i} f_t^n as the angle of pair n = 1 … D/2, and f_t = 1 / (1 +
    softplus(w_h·x_t))."""

    needs_causal = True  # the angle accumulates from the key to the query
    is_rotary = True

    def __init__(self, heads: int, head_width: int, width: int) -> None:
        super().__init__()
        self.pairs = head_width // 2
        self.frequency = nn.Linear(width, heads, bias=False)
        nn.init.normal_(self.frequency.weight, std=init_std(width))

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        return replace(effect, rotate=PairRotation.by(self.angle(layer.x), "interleaved"))

    def angle(self, x: Tensor) -> Tensor:
        """Return the angle of each token and pair, (B, H, T, D/2) in float64."""
        frequency = 1 / (1 + softplus(linear32(x, self.frequency).mT))  # (B, H, T)
        power = torch.arange(1, self.pairs + 1, device=x.device)
        return double(frequency[..., None] ** power).cumsum(-2)
