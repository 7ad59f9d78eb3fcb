"""KERPLE (Chi et al., 2022, https://arxiv.org/abs/2205.09921): a learned kernel of the distance, per head.

Added to the logits after their scaling by 1/sqrt(D), as in the authors' code; the paper writes it before.
The authors keep the parameters positive by clipping the weights in every forward pass; here only
the optimizer changes weights, which pass through a softplus, or twice a sigmoid for an exponent in
(0, 2).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encoding import Encoding


class KERPLELog(Encoding):
    """A bias that falls with the logarithm of the distance.

    Equation: q_i·k_j/√D − r1 ln(1 + r2 (i − j)).
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.r1 = nn.Parameter(before_softplus(2 * uniform(heads)))
        self.r2 = nn.Parameter(before_softplus(uniform(heads)))

    def forward(self, positions: Positions) -> Effect:
        r1, r2 = F.softplus(self.r1.float()), F.softplus(self.r2.float())  # (H,)

        def bias(head: Tensor, distance: Tensor) -> Tensor:
            return -r1[head] * (r2[head] * distance.abs()).log1p()

        return Effect(positions, bias=ByDistance.of_heads(r1.numel(), bias))


class KERPLEPower(Encoding):
    """A bias that falls with a power of the distance.

    Equation: q_i·k_j/√D − r1 (i − j)^r2.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.r1 = nn.Parameter(before_softplus(uniform(heads)))
        self.r2 = nn.Parameter(uniform(heads).logit())

    def forward(self, positions: Positions) -> Effect:
        r1, r2 = F.softplus(self.r1.float()), 2 * self.r2.float().sigmoid()  # (H,)

        def bias(head: Tensor, distance: Tensor) -> Tensor:
            away = distance.abs()
            power = torch.where(away > 0, away, 1) ** r2[head]  # not of 0, whose derivative by r2 is NaN
            return -r1[head] * torch.where(away > 0, power, 0)

        return Effect(positions, bias=ByDistance.of_heads(r1.numel(), bias))


def uniform(heads: int) -> Tensor:
    """Return random numbers (H,) in [0.01, 0.99]. The authors draw from (0, 1) and raise those below 0.01."""
    return torch.rand(heads).clamp(0.01, 0.99)


def before_softplus(value: Tensor) -> Tensor:
    return value.expm1().log()
