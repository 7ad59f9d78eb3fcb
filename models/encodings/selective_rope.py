"""Selective RoPE (Movahedi et al., 2025, https://arxiv.org/abs/2511.17388): the content rotates.

A low-rank map of the hidden state gives a phase for each head and pair; a short causal convolution smooths
the phases, and a key and a query turn by the sum of those in between. It starts close to NoPE.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.bounds import Base, Count
from models.effect import Effect, Layer, Positions
from models.encoding import Encoding
from models.encodings.rope import geometric
from models.ops.precision import double, linear32
from models.ops.rotary import PairRotation

TAPS = 4  # of the convolution


class SelectiveRoPE(Encoding):
    """`rank`: of the map from the hidden state to the phases. `base`: phases of pair k are multiplied by
    base^(-2k/D).

    Equation: RoPE's logit, with θ_f Σ_{s≤t} φ_f(x_s) as the angle of token t.
    """

    receptive_field = TAPS
    needs_causal = True  # the phases accumulate from the key to the query
    is_rotary = True

    def __init__(
        self, heads: int, head_width: int, width: int, rank: Count = 32, base: Base = 500_000.0
    ) -> None:
        super().__init__()
        self.heads, self.base, pairs = heads, float(base), head_width // 2
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, heads * pairs, bias=False)
        for weight in (self.down.weight, self.up.weight):
            nn.init.normal_(weight, std=0.02)
        self.taps = nn.Parameter(torch.empty(heads * pairs, TAPS).uniform_(-0.5, 0.5))

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        return replace(effect, rotate=PairRotation.by(self.angle(layer.x), "half"))

    def angle(self, x: Tensor) -> Tensor:
        """Return the angle of each token and pair, (B, H, T, D/2) in float64."""
        parts = x.float().unflatten(-1, (self.heads, -1))  # (B, T, H, C/H)
        parts = parts * (parts.square().sum(-1, keepdim=True) + 1e-6).rsqrt()
        phase = linear32(linear32(parts.flatten(-2), self.down), self.up)  # (B, T, H D/2)
        padded = F.pad(phase, (0, 0, TAPS - 1, 0))
        smooth = sum(padded[:, n : n + x.size(1)] * self.taps[:, n].float() for n in range(TAPS))
        total = double(torch.as_tensor(smooth)).cumsum(1).unflatten(-1, (self.heads, -1))  # (B, T, H, D/2)
        pairs = total.size(-1)
        return (total * geometric(2 * pairs, self.base).to(total)).transpose(1, 2)
