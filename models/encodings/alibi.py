"""ALiBi (Press et al., 2021, https://arxiv.org/abs/2108.12409): logits fall linearly with distance.

Its variants: slopes that learn (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466), a fall in half of
the heads (NAPE: Vasylenko et al., 2025, https://arxiv.org/abs/2506.16640), and heads that see a few keys
(Hard-ALiBi: Jelassi et al., 2024, https://arxiv.org/abs/2402.01032).
"""

import torch
from torch import Tensor, nn

from models.bounds import Auto, Whole
from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encoding import Encoding


class ALiBi(Encoding):
    """Equation: q_i·k_j/√D − m_h (i − j), with m_h = 2^(−8h/H)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, positions: Positions) -> Effect:
        slope = self.slopes()

        def bias(head: Tensor, distance: Tensor) -> Tensor:
            return -slope[head] * distance.abs().float()

        return Effect(positions, bias=ByDistance.of_heads(self.heads, bias))

    def slopes(self) -> Tensor:
        """Return the slope of each head, (H,)."""
        return slopes(self.heads)


class ALiBiLearned(Encoding):
    """The logarithms of the slopes are trained, from ALiBi's on, so that no slope changes its sign.

    Equation: q_i·k_j/√D − exp(w_h) (i − j), with w_h learned from ln 2^(−8h/H) on.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.log_slope = nn.Parameter(slopes(heads).log())

    def forward(self, positions: Positions) -> Effect:
        slope = self.log_slope.float().exp()[:, None]  # (H, 1)
        return Effect(positions, bias=ByDistance(lambda distance: -slope * distance.abs()))


class NAPE(ALiBi):
    """The first half of the heads falls with slopes 1, 1/2, 1/3, ..., as in the authors' code; the other half
    has no position. The paper pairs it with a sparse softmax; this is its position alone.

    Equation: q_i·k_j/√D − m_h (i − j), with m_h = 1/h for h ≤ H/2, else 0.
    """

    def slopes(self) -> Tensor:
        """Return the slope of each head, (H,): 1, 1/2, ..., 2/H, 0, ..., 0."""
        head = torch.arange(1, self.heads + 1)
        return torch.where(head <= self.heads // 2, 1 / head, 0)


class HardALiBi(Encoding):
    """Head h of the first `local` sees the h latest tokens, all alike, as in the authors' code; the others
    have no position. `auto` is half of the heads.

    Equation: q_i·k_j/√D in heads h > `local`; in the others the same if i − j < h, else −∞.
    """

    def __init__(self, heads: int, local: Whole | Auto = "auto") -> None:
        super().__init__()
        self.heads, self.local = heads, heads // 2 if local == "auto" else int(local)

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions, bias=ByDistance(self.bias))

    def bias(self, distance: Tensor) -> Tensor:
        head = torch.arange(1, self.heads + 1, device=distance.device)[:, None]  # (H, 1)
        hidden = (head <= self.local) & (distance.abs() >= head)
        return torch.zeros(hidden.shape, device=distance.device).masked_fill(hidden, float("-inf"))


def slopes(heads: int) -> Tensor:
    """Return slopes, (H,): 2^(-8/H), 2^(-16/H), ...; other numbers of heads than powers of two add slopes
    from the next power, as the authors do."""
    power = 1 << (heads.bit_length() - 1)
    first = 2.0 ** (-8 / power * torch.arange(1, power + 1))
    return first if heads == power else torch.cat([first, slopes(2 * power)[0::2][: heads - power]])
