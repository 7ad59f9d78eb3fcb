"""FIRE (Li et al., 2023, https://arxiv.org/abs/2310.04418): a small network of distance / position.

The distance is divided by the query's position (both through a logarithm), so that the network
sees numbers from 0 to 1 at any length: it never has to extrapolate.
"""

import torch
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
        read, write, level = self.network(positions)

        def bias(i: Tensor, j: Tensor) -> Tensor:
            own = torch.maximum(i.float(), self.tokens())
            ratio = self.psi(i.float() - j.float()) / (self.psi(own) + TINY)  # (R, K)
            given = torch.stack([ratio, torch.ones_like(ratio)]).flatten(1)  # (2, R K)
            with as_given(i.device):
                return torch.addmm(level, write, (read @ given).relu_()).unflatten(-1, ratio.shape)

        return Effect(positions, bias=Surface(bias))

    def network(self, positions: Positions) -> tuple[Tensor, ...]:
        """Slopes and starts (hidden, 2), weights (H, hidden), levels (H, 1). Where nothing is to be learned,
        units that bend at no ratio that there can be, as most do, become the one line that they add up to."""
        read = torch.cat([self.read.weight, self.read.bias[:, None]], dim=1).float()
        write, level = self.write.weight.float(), self.write.bias.float()[:, None]
        if torch.is_grad_enabled() or not positions.at.is_cpu or torch.compiler.is_compiling():
            return read, write, level
        ahead = self.psi(torch.tensor(float(positions.span))) / (self.psi(self.tokens()) + TINY)
        highest = torch.ones(()) if positions.causal else ahead
        ends = read @ torch.stack([torch.stack([torch.zeros(()), highest]), torch.ones(2)])  # (hidden, 2)
        on, bends = (ends >= 0).all(1), (ends > 0).any(1) & (ends < 0).any(1)
        line, ones = write[:, on] @ read[on], torch.tensor([[1.0, 0.0]])  # the ratio itself is never negative
        return (
            torch.cat([ones, read[bends]]),
            torch.cat([line[:, :1], write[:, bends]], 1),
            level + line[:, 1:],
        )

    def tokens(self) -> Tensor:
        """The threshold."""
        return (self.threshold.float() * self.length).abs()

    def psi(self, x: Tensor) -> Tensor:
        return (self.c.float() * x).abs().log1p()
