"""Transformer-XL's relative terms (Dai et al., 2019, https://arxiv.org/abs/1901.02860), without its memory.

A logit is ((q + u) . k + (q + v) . W R_d) / sqrt(D), with R_d the sinusoidal embedding of the distance d. u
and v are shared by all layers, W is of one layer.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from models.effect import Adjust, Effect, Layer, Positions
from models.encoding import Encoding
from models.ops.precision import double, without_autocast


class TransformerXL(Encoding):
    """Equation: ((q_i + u)·k_j + (q_i + v)·W r(i − j))/√D, with r(d) the sinusoids of d."""

    needs_causal = True  # the published form has no keys ahead
    needs_whole = True

    def __init__(self, heads: int, head_width: int, width: int, depth: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.content_bias, self.place_bias = (
            nn.Parameter(0.02 * torch.randn(heads, 1, head_width)) for _ in range(2)
        )
        self.to_keys = nn.ParameterList(
            nn.Parameter(0.02 * torch.randn(heads * head_width, width)) for _ in range(depth)
        )

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        distances = torch.arange(effect.positions.span, device=layer.q.device)
        weight = self.to_keys[layer.number % len(self.to_keys)].float()
        with without_autocast(layer.q.device):
            places = sinusoids(distances, self.width) @ weight.mT
        places = places.unflatten(-1, (self.heads, -1)).transpose(0, 1)  # (H, N, D)

        def adjust(logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
            scores = (q.float() + self.place_bias.float()) @ places.mT  # (B, H, R, N)
            by_place = scores.gather(-1, (i - j).clamp(min=0).expand(logits.shape))
            by_content = (k.float() * self.content_bias.float()).sum(-1)[..., None, :]  # (B, H, 1, K)
            return logits + ((by_place + by_content) * q.size(-1) ** -0.5).to(logits.dtype)

        return replace(effect, adjust=Adjust(adjust))


def sinusoids(at: Tensor, width: int) -> Tensor:
    """Return the sines of all frequencies, then their cosines, (N, width) float32."""
    half = double(torch.arange(0, width, 2, device=at.device)) / width
    angle = double(at)[:, None] * 10_000.0**-half
    return torch.cat([angle.sin(), angle.cos()], dim=-1)[:, :width].float()
