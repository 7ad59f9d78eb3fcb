"""Disentangled attention (DeBERTa, He et al., 2020, https://arxiv.org/abs/2006.03654).

Two terms beside content to content: the query's content to the key's relative position, and
the key's content to the query's. With three terms the scale is 1/sqrt(3 D). The relative
embeddings are shared by all layers, each of which projects them with matrices of its own.
"""

import torch
from torch import Tensor, nn

from models.bounds import Auto, Count
from models.effect import Adjust, Effect, FarKeys, Positions
from models.encoding import Encoding, Schedule
from models.ops.linear import init_std


class DeBERTa(Schedule):
    """One `Disentangled` for each layer around one table of relative embeddings. `reach`: the paper's k,
    which is 512 in training at 512; `auto` is the training length.

    Equation: (q_i·k_j + q_i·K r(i − j) + k_j·Q r(j − i)) / √(3D), with r a learned vector for each distance.
    """

    needs_whole = True

    def __init__(self, depth: int, heads: int, width: int, length: int, reach: Count | Auto = "auto") -> None:
        rows = 2 * (length if reach == "auto" else int(reach))
        table = nn.Parameter(init_std(width) * torch.randn(rows, width))
        super().__init__([Disentangled(table, heads) for _ in range(depth)])


class Disentangled(Encoding):
    def __init__(self, table: nn.Parameter, heads: int) -> None:
        super().__init__()
        self.heads, self.table = heads, table
        width = table.size(1)
        self.to_key = nn.Parameter(init_std(width) * torch.randn(width, width))
        self.to_query = nn.Parameter(init_std(width) * torch.randn(width, width))

    def forward(self, positions: Positions) -> Effect:
        keys, queries = self.project(self.to_key), self.project(self.to_query)

        def adjust(logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
            key_place = self.row(i - j).expand(logits.shape)  # (B, H, R, K), as the query sees it
            query_place = self.row(j - i).expand(logits.shape)
            by_query = (q @ keys.to(q.dtype).mT).gather(-1, key_place)
            by_key = (k @ queries.to(k.dtype).mT).gather(-1, query_place.mT).mT
            return (logits + (by_query + by_key) * q.size(-1) ** -0.5) * 3**-0.5

        def furthest(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
            far_key, far_query = keys[:, -1:].to(k.dtype), queries[:, :1].to(q.dtype)  # (H, 1, D)
            q = torch.cat([q, far_query.expand_as(q)], dim=-1) * 3**-0.5
            return q, torch.cat([k + far_key, k], dim=-1)

        return Effect(positions, adjust=Adjust(adjust, FarKeys(self.table.size(0) // 2, furthest)))

    def project(self, weight: Tensor) -> Tensor:
        """Return the table times `weight`, split into heads, (H, 2 reach, D)."""
        return (self.table.float() @ weight.float()).unflatten(-1, (self.heads, -1)).transpose(0, 1)

    def row(self, distance: Tensor) -> Tensor:
        """Return the paper's delta: the table row of each distance."""
        return (distance + self.table.size(0) // 2).clamp(0, self.table.size(0) - 1)
