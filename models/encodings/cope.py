"""CoPE (Golovneva et al., 2024, https://arxiv.org/abs/2405.18719): positions count what the query wants.

A gate decides for each key whether it counts; the position of a key is the sum of the gates
from it up to the query, and its embedding is interpolated between whole positions.
"""

import torch
from torch import Tensor, nn

from models.bounds import Auto, Count
from models.effect import Adjust, Effect, Positions
from models.encoding import Encoding


class CoPE(Encoding):
    """`reach`: the highest count. `auto` is the authors' 64, but at most half the training length, which
    gates that start half open can count.

    Equation: q_i·k_j/√D + q_i·e(p_ij), with p_ij = Σ_{j≤t≤i} σ(q_i·k_t/√D).
    """

    needs_causal = True  # the count runs from the key up to the query

    def __init__(self, head_width: int, length: int, reach: Count | Auto = "auto") -> None:
        super().__init__()
        rows = max(2, min(64, length // 2)) if reach == "auto" else reach
        self.table = nn.Parameter(torch.zeros(rows, head_width))

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions, adjust=Adjust(self.adjust))

    def adjust(self, logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        gates = logits.float().sigmoid()  # 0 where a key is not seen
        count = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=self.table.size(0) - 1)  # (B, H, R, K)
        scores = (q @ self.table.to(q.dtype).mT).float()  # (B, H, R, reach), not scaled
        below, after = count.detach().long(), torch.cat([scores[..., 1:], scores[..., -1:]], dim=-1)
        low, high = scores.gather(-1, below), after.gather(-1, below)
        return logits + torch.lerp(low, high, count.frac()).to(logits.dtype)
