"""GRAPE (Zhang et al., 2025, https://arxiv.org/abs/2512.07805): positions as products of group elements.

Three of its forms that read the content, as released: a rotation that accumulates over tokens, a bias that
a key or query opens, and a bias along the path from key to query. The non-contextual rotation is RoPE with
learned frequencies (see `lerope`).
"""

import math
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, sigmoid, softplus

from conf.errors import UsageError
from models.bounds import Base, Count
from models.effect import Adjust, Effect, Layer, Positions
from models.encoding import Encoding
from models.encodings.alibi import slopes
from models.encodings.rope import RoPE
from models.ops.linear import init_std
from models.ops.precision import double, linear32
from models.ops.rotary import rotate_pairs

SOFTENED = 16  # by which the authors divide what the gate reads
TINY = 1e-12


class ContextualRotation(RoPE):
    """GRAPE-M, contextual: all heads turn by the sum of the gates of the tokens before. The gate is
    sigmoid(x / 16) in the authors' code, which starts at 0.39; their text has softplus, from 0.001.

    Equation: RoPE's logit, with −θ_f Σ_{t<i} g(x_t) as the angle of token i.
    """

    needs_causal = True

    def __init__(
        self, head_width: int, width: int, base: Base = 10_000.0, gate: str = "sigmoid", layout: str = "half"
    ) -> None:
        super().__init__(head_width, base, layout=layout)
        if gate not in ("sigmoid", "softplus"):
            raise UsageError(f"encoding.gate={gate} must be sigmoid or softplus.")
        self.gate, self.speed = gate, nn.Linear(width, 1)
        nn.init.zeros_(self.speed.weight)
        nn.init.constant_(self.speed.bias, math.log(math.expm1(0.001)))

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        read = linear32(layer.x, self.speed)  # (B, T, 1)
        speed = sigmoid(read / SOFTENED) if self.gate == "sigmoid" else softplus(read)
        turned = double(speed).cumsum(1) - speed  # of the tokens before
        angle = -turned * self.frequencies()  # (B, T, D/2)
        return replace(effect, rotate=self.rotation(angle, angle))


class GatedBias(Encoding):
    """GRAPE-A: ALiBi whose slope the key, the query or both open.

    Equation: q_i·k_j/√D − (i − j) m_h s_h softplus(u_h·k_j/√D), with m_h = 2^(−8h/H).
    """

    def __init__(self, heads: int, head_width: int, gate: str = "key") -> None:
        super().__init__()
        if gate not in ("key", "query", "both"):
            raise UsageError(f"encoding.gate={gate} must be key, query or both.")
        self.heads = heads
        self.strength = nn.Parameter(torch.full((heads, 1, 1), math.log(math.e - 1)))  # softplus: 1
        self.of_key = None if gate == "query" else unit_vectors(heads, head_width)
        self.of_query = None if gate == "key" else unit_vectors(heads, head_width)

    def forward(self, positions: Positions) -> Effect:
        slope = slopes(self.heads)[:, None, None] * softplus(self.strength.float())  # (H, 1, 1)

        def adjust(logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
            opened: Tensor | float = 0.0
            if self.of_key is not None:
                opened = opening(k, self.of_key)[..., None, :]  # (B, H, 1, K)
            if self.of_query is not None:
                opened = opened + opening(q, self.of_query)[..., None]  # (B, H, R, 1)
            return logits - ((i - j).abs() * slope * opened).to(logits.dtype)

        return Effect(positions, adjust=Adjust(adjust))


def unit_vectors(heads: int, width: int) -> nn.Parameter:
    vectors = torch.randn(heads, 1, width)
    return nn.Parameter(vectors / vectors.norm(dim=-1, keepdim=True))


def opening(x: Tensor, vector: Tensor) -> Tensor:
    """Return softplus(u . x / sqrt(D)) of x (B, H, T, D), (B, H, T) float32."""
    return softplus((x.float() * vector.float()).sum(-1) * x.size(-1) ** -0.5)


class PathBias(Encoding):
    """GRAPE-AP: a bias of the gates of all tokens after the key, as the query sees each. Keys alone are
    rotated, by 1 radian a token, so the bias depends on absolute positions, as in the authors' code.

    Equation: q_i·k_j/√D + m_h Σ_{j<t≤i} ln σ(p_i·R(−t) p̂_t / P), with p_t = W x_t of P features.
    """

    needs_causal = True
    relative = False

    def __init__(self, heads: int, width: int, features: Count = 8) -> None:
        super().__init__()
        self.heads, self.features = heads, 2 * math.ceil(features / 2)
        self.path = nn.Linear(width, heads * self.features, bias=False)
        nn.init.normal_(self.path.weight, std=init_std(width))

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        p = linear32(layer.x, self.path).unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, H, T, P)
        at = effect.positions.at
        angle = -double(at)[..., None]  # (T, 1) or (B, T, 1)
        cos, sin = (
            t.float().expand(*at.shape, self.features // 2).unsqueeze(-3) for t in (angle.cos(), angle.sin())
        )
        keys = rotate_pairs(p * (p.square().mean(-1, keepdim=True) + TINY).rsqrt(), cos, sin, "half")

        slope = slopes(self.heads)[:, None, None]

        def adjust(logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
            gates = at_positions(p, at, i) @ at_positions(keys, at, j).mT / self.features
            gates = logsigmoid(gates).masked_fill(j > i, 0)  # (B, H, R, K)
            after = gates.flip(-1).cumsum(-1).flip(-1) - gates  # tokens after j
            return logits + (slope * after).to(logits.dtype)

        return replace(effect, adjust=Adjust(adjust))


def at_positions(x: Tensor, at: Tensor, wanted: Tensor) -> Tensor:
    """Return the rows of x (B, H, T, P), whose positions are `at`, for the wanted positions."""
    rows = torch.searchsorted(at, wanted.reshape(*at.shape[:-1], -1).contiguous())  # (N,) or (B, N)
    index = rows.view(-1, 1, rows.size(-1), 1).expand(*x.shape[:2], -1, x.size(-1))
    return x.gather(2, index)
