"""PaTH (Yang et al., 2025, https://arxiv.org/abs/2505.16381): each token reflects all keys before it.

A logit is q_i H_i ... H_{j+1} k_j / sqrt(D) with H_t = I - beta_t w_t w_t^T: a direction w_t and a strength
beta_t in (0, 2) from the hidden state. Products are computed in float32, in blocks of their triangular form.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conf.errors import UsageError
from models.bounds import Count
from models.effect import Effect, Layer, OwnAttention, Positions
from models.encoding import Encoding
from models.encodings.fox import FoX
from models.ops.precision import linear32, without_autocast

TAPS = 3  # of the convolution
BLOCK = 64  # tokens whose reflections are multiplied at once
TINY = 1e-6


class PaTH(Encoding):
    """`rank`: of the map from the hidden state to the directions. `gate` adds the gates of the Forgetting
    Transformer (PaTH-FoX), `unscaled` as there, or `scaled` by 1/sqrt(D) as in the authors' code.

    Equation: q_i H_i … H_{j+1} k_j / √D, with H_t = I − β_t w_t w_tᵀ.
    """

    receptive_field = TAPS
    needs_causal = True  # the path leads from the key to the query

    def __init__(self, heads: int, head_width: int, width: int, rank: Count = 32, gate: str = "none") -> None:
        super().__init__()
        if gate not in ("none", "unscaled", "scaled"):
            raise UsageError(f"encoding.gate={gate} must be none, unscaled or scaled.")
        self.heads, self.gate_scale = heads, head_width**-0.5 if gate == "scaled" else 1.0
        self.down, self.up = (
            nn.Linear(width, rank, bias=False),
            nn.Linear(rank, heads * head_width, bias=False),
        )
        self.strength = nn.Linear(width, heads)
        for linear in (self.down, self.up, self.strength):
            nn.init.normal_(linear.weight, std=0.02)
        nn.init.zeros_(self.strength.bias)
        self.taps = nn.Parameter(torch.empty(heads * head_width, TAPS).uniform_(-(TAPS**-0.5), TAPS**-0.5))
        self.gates = None if gate == "none" else FoX(heads, width)

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        raw = linear32(linear32(layer.x, self.down), self.up)  # (B, T, H D)
        strength = 2 * linear32(layer.x, self.strength).sigmoid().mT  # (B, H, T)
        with without_autocast(raw.device):
            direction = directions(raw, self.taps.float(), self.heads)  # (B, H, T, D)
            removed = reflections(layer.k.float(), direction, strength)

        def of_rows(q: Tensor, k: Tensor, rows: slice) -> Tensor:
            return path_logits(q.float(), k.float(), direction, removed, rows)

        decay = None if self.gates is None else self.gate_scale * self.gates.log_decay(layer.x)
        return replace(effect, attention=OwnAttention(scores=of_rows), log_decay=decay)


def directions(raw: Tensor, taps: Tensor, heads: int) -> Tensor:
    """Return unit vectors (B, H, T, D): raw (B, T, H D) after a causal convolution with taps (H D, 3), the
    newest token last, and silu."""
    padded = F.pad(raw.mT, (TAPS - 1, 0))  # (B, H D, 2 + T)
    smooth = F.silu(F.conv1d(padded, taps[:, None], groups=taps.size(0))).mT
    vectors = smooth.unflatten(-1, (heads, -1)).transpose(1, 2)
    return vectors * (vectors.square().sum(-1, keepdim=True) + TINY).rsqrt()


def in_blocks(x: Tensor, size: int) -> Tensor:
    """Return tokens (B, H, T, D) in blocks of N, (B, H, T / N, N, D); zeros fill up the last block."""
    return F.pad(x, (0, 0, 0, -x.size(-2) % size)).unflatten(-2, (-1, size))


def reflections(k: Tensor, w: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
    """Return what blocks of N tokens take from queries, times W q: for their own keys (B, H, T / N, N, N) and
    for all earlier ones (B, H, T / N, N, D), for k and w (B, H, T, D) and beta (B, H, T).

    Solving for both keeps digits that the inverse of I + tril(beta W W^T, -1) would lose where W is parallel.
    """
    size = min(BLOCK, w.size(-2))
    k, w, beta = in_blocks(k, size), in_blocks(w, size), in_blocks(beta[..., None], size)
    taken = torch.cat([beta * (w @ k.mT).tril(-1), beta * w], dim=-1)
    between = beta * (w @ w.mT).tril(-1)
    solved = torch.linalg.solve_triangular(between, taken, upper=False, unitriangular=True)
    return solved[..., :size], solved[..., size:]


def path_logits(
    q: Tensor, k: Tensor, w: Tensor, removed: tuple[Tensor, Tensor], rows: slice = slice(None)
) -> Tensor:
    """Return the logits (B, H, R, T) of some queries for q, k, w (B, H, T, D) and the `reflections` of k and
    w; those of later keys mean nothing. Queries walk back over blocks of tokens."""
    length, size = q.size(-2), removed[0].size(-1)
    chosen = range(length)[rows]
    count = chosen[-1] // size + 1  # of the blocks up to the last query
    of_k, of_w = (in_blocks(x, size).mT.unbind(2) for x in (k, w))  # (B, H, D, N) each
    for_keys, for_earlier = (x.unbind(2) for x in removed)
    index = torch.arange(count * size, device=q.device)
    at, walking = index[chosen.start : chosen.stop, None], q[:, :, rows] * q.size(-1) ** -0.5
    found = []
    for block in reversed(range(count)):
        seen = walking @ of_w[block]  # (B, H, R, N)
        if (block + 1) * size > chosen[0]:  # some tokens come after a query
            seen = seen.masked_fill(at < index[block * size : (block + 1) * size], 0)
        found.append(walking @ of_k[block] - seen @ for_keys[block])
        walking = walking - seen @ for_earlier[block]
    return F.pad(torch.cat(found[::-1], dim=-1), (0, length - count * size))
