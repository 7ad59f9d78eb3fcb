"""ALiBi (Press et al., 2021, https://arxiv.org/abs/2108.12409): logits fall linearly with distance."""

import torch
from torch import Tensor

from models.effect import ByDistance, Effect, Positions
from models.encoding import Encoding


class ALiBi(Encoding):
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


def slopes(heads: int) -> Tensor:
    """Return slopes, (H,): 2^(-8/H), 2^(-16/H), ...; other numbers of heads than powers of two add slopes
    from the next power, as the authors do."""
    power = 1 << (heads.bit_length() - 1)
    first = 2.0 ** (-8 / power * torch.arange(1, power + 1))
    return first if heads == power else torch.cat([first, slopes(2 * power)[0::2][: heads - power]])
