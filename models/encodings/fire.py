"""FIRE (Li et al., 2023, https://arxiv.org/abs/2310.04418): a small network of distance / position.

The distance is divided by the query's position (both through a logarithm), so that the network
sees numbers from 0 to 1 at any length: it never has to extrapolate.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.effect import Effect, Encoding, Positions, Surface
from models.precision import as_given


class FIRE(Encoding):
    """Positions below a learned threshold, at first the training length, count as the threshold."""

    relative = False

    def __init__(self, heads: int, length: int, hidden: int = 32, c: float = 0.1) -> None:
        super().__init__()
        self.length = length
        self.read, self.write = nn.Linear(1, hidden), nn.Linear(hidden, heads)
        self.c, self.threshold = nn.Parameter(torch.tensor(c)), nn.Parameter(torch.tensor(1.0))

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions, bias=Surface(self.bias))

    def bias(self, i: Tensor, j: Tensor) -> Tensor:
        """(H, R, K)"""
        far, near = self.psi(i.float() - j.float()), torch.maximum(i.float(), self.threshold_tokens())
        ratio = far / (self.psi(near) + 1e-6)  # (R, K)
        with as_given(i.device):
            slope, start, weight, level = self.network(ratio)
            hidden = torch.addcmul(start, slope, ratio.flatten()).relu_()  # (hidden, R K)
            bias = torch.addmm(level, weight, hidden)
        return bias.unflatten(-1, ratio.shape)

    def network(self, ratio: Tensor) -> tuple[Tensor, ...]:
        """Slopes and starts (hidden, 1), weights (H, hidden) and levels (H, 1). Of the units that bend
        nowhere among the ratios, as most do, one line is left where nothing is to be learned from them."""
        slope, start = self.read.weight.float(), column(self.read.bias)
        weight, level = self.write.weight.float(), column(self.write.bias)
        if ratio.requires_grad or not ratio.is_cpu or torch.compiler.is_compiling():
            return slope, start, weight, level
        ends = start + slope * torch.stack(ratio.aminmax())  # (hidden, 2)
        on, bends = (ends >= 0).all(1), (ends > 0).any(1) & (ends < 0).any(1)
        line, level = weight[:, on] @ slope[on], level + weight[:, on] @ start[on]
        slope, start = F.pad(slope[bends], (0, 0, 1, 0), value=1.0), F.pad(start[bends], (0, 0, 1, 0))
        return slope, start, torch.cat([line, weight[:, bends]], dim=1), level

    def threshold_tokens(self) -> Tensor:
        return (self.threshold.float() * self.length).abs()

    def psi(self, x: Tensor) -> Tensor:
        return (self.c.float() * x).abs().log1p()


def column(bias: Tensor) -> Tensor:
    return bias.float()[:, None]
