"""PaTH (Yang et al., 2025, https://arxiv.org/abs/2505.16381): each token reflects all keys before it.

A logit is q_i H_i ... H_{j+1} k_j / sqrt(D) with H_t = I - beta_t w_t w_t^T: a direction w_t and a strength
beta_t in (0, 2) from the hidden state. `forget` adds the gates of the Forgetting Transformer, not divided by
sqrt(D). The triangular form computes all products at once, in float32.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.bounds import Count
from models.effect import Effect, Layer, OwnAttention, Positions
from models.encoding import Encoding
from models.encodings.fox import FoX
from models.ops.precision import linear32, without_autocast

TAPS = 3  # of the convolution
TINY = 1e-6


class PaTH(Encoding):
    """`rank`: of the map from the hidden state to the directions."""

    needs_causal = True  # the path leads from the key to the query

    def __init__(
        self, heads: int, head_width: int, width: int, rank: Count = 32, forget: bool = False
    ) -> None:
        super().__init__()
        self.heads = heads
        self.down, self.up = (
            nn.Linear(width, rank, bias=False),
            nn.Linear(rank, heads * head_width, bias=False),
        )
        self.strength = nn.Linear(width, heads)
        for linear in (self.down, self.up, self.strength):
            nn.init.normal_(linear.weight, std=0.02)
        nn.init.zeros_(self.strength.bias)
        self.taps = nn.Parameter(torch.empty(heads * head_width, TAPS).uniform_(-(TAPS**-0.5), TAPS**-0.5))
        self.gates = FoX(heads, width) if forget else None

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        raw = linear32(linear32(layer.x, self.down), self.up)  # (B, T, H D)
        with without_autocast(raw.device):
            direction = directions(raw, self.taps.float(), self.heads)  # (B, H, T, D)
        strength = 2 * linear32(layer.x, self.strength).sigmoid().mT  # (B, H, T)
        own = OwnAttention(scores=lambda q, k: scores(q.float(), k.float(), direction, strength))
        decay = None if self.gates is None else self.gates.log_decay(layer.x)
        return replace(effect, attention=own, log_decay=decay)


def directions(raw: Tensor, taps: Tensor, heads: int) -> Tensor:
    """Return unit vectors (B, H, T, D): raw (B, T, H D) after a causal convolution with taps (H D, 3), the
    newest token last, and silu."""
    padded = F.pad(raw.mT, (TAPS - 1, 0))  # (B, H D, 2 + T)
    smooth = F.silu(F.conv1d(padded, taps[:, None], groups=taps.size(0))).mT
    vectors = smooth.unflatten(-1, (heads, -1)).transpose(1, 2)
    return vectors * (vectors.square().sum(-1, keepdim=True) + TINY).rsqrt()


def scores(q: Tensor, k: Tensor, w: Tensor, beta: Tensor) -> Tensor:
    """Return the logits (B, H, T, T) of q, k, w (B, H, T, D) and beta (B, H, T); those of later keys mean
    nothing.

    What the path takes from a key is X of (I + beta W W^T) X = beta W K^T with strict lower triangles.
    """
    beta = beta[..., None]
    between = beta * (w @ w.mT).tril(-1)
    seen = beta * (w @ k.mT).tril(-1)
    taken = torch.linalg.solve_triangular(between, seen, upper=False, unitriangular=True)
    return (q @ k.mT - (q @ w.mT).tril() @ taken) * q.size(-1) ** -0.5
