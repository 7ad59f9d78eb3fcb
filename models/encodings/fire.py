"""FIRE (Li et al., 2023, https://arxiv.org/abs/2310.04418): a small network of distance / position.

The distance is divided by the query's position (both through a logarithm), so that the network
sees numbers from 0 to 1 at any length: it never has to extrapolate.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.effect import Effect, Encoding, Positions, Surface
from models.precision import as_given

TINY = 1e-6  # keeps a ratio from 0 / 0


class FIRE(Encoding):
    """Positions below a learned threshold, at first the training length, count as the threshold."""

    relative = False

    def __init__(self, heads: int, length: int, hidden: int = 32, c: float = 0.1) -> None:
        super().__init__()
        self.length = length
        self.read, self.write = nn.Linear(1, hidden), nn.Linear(hidden, heads)
        self.c, self.threshold = nn.Parameter(torch.tensor(c)), nn.Parameter(torch.tensor(1.0))

    def forward(self, positions: Positions) -> Effect:
        slope, start, weight, level = self.network(positions)

        def bias(i: Tensor, j: Tensor) -> Tensor:
            own = torch.maximum(i.float(), self.tokens())
            ratio = self.psi(i.float() - j.float()) / (self.psi(own) + TINY)  # (R, K)
            with as_given(i.device):
                hidden = torch.addcmul(start, slope, ratio.flatten()).relu_()  # (hidden, R K)
                return torch.addmm(level, weight, hidden).unflatten(-1, ratio.shape)

        return Effect(positions, bias=Surface(bias))

    def network(self, positions: Positions) -> tuple[Tensor, ...]:
        """Slopes and starts (hidden, 1), weights (H, hidden), levels (H, 1). Where nothing is to be learned,
        units that bend at no ratio that there can be, as most do, become the one line that they add up to."""
        slope, start = self.read.weight.float(), column(self.read.bias)
        weight, level = self.write.weight.float(), column(self.write.bias)
        if torch.is_grad_enabled() or not positions.at.is_cpu or torch.compiler.is_compiling():
            return slope, start, weight, level
        ahead = self.psi(torch.tensor(float(positions.span))) / (self.psi(self.tokens()) + TINY)
        highest = torch.ones(()) if positions.causal else ahead
        ends = torch.cat([start, start + slope * highest], dim=1)  # (hidden, 2)
        on, bends = (ends >= 0).all(1), (ends > 0).any(1) & (ends < 0).any(1)
        line, level = weight[:, on] @ slope[on], level + weight[:, on] @ start[on]
        slope, start = F.pad(slope[bends], (0, 0, 1, 0), value=1.0), F.pad(start[bends], (0, 0, 1, 0))
        return slope, start, torch.cat([line, weight[:, bends]], dim=1), level

    def tokens(self) -> Tensor:
        """The threshold."""
        return (self.threshold.float() * self.length).abs()

    def psi(self, x: Tensor) -> Tensor:
        return (self.c.float() * x).abs().log1p()


def column(bias: Tensor) -> Tensor:
    return bias.float()[:, None]
