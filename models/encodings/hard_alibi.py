"""Hard-ALiBi (Jelassi et al., 2024, https://arxiv.org/abs/2402.01032): some heads see a few keys, others all.

Head h of the first half sees the h latest tokens, as in the authors' code, all alike; the other half
has no position. Together they copy: the first find what came before, the others where that was.
"""

import torch
from torch import Tensor

from models.bounds import Auto, Whole
from models.effect import ByDistance, Effect, Positions
from models.encoding import Encoding


class HardALiBi(Encoding):
    """`local`: the number of heads that see only a few keys; `auto` is half of the heads."""

    def __init__(self, heads: int, local: Whole | Auto = "auto") -> None:
        super().__init__()
        self.heads, self.local = heads, heads // 2 if local == "auto" else int(local)

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions, bias=ByDistance(self.bias))

    def bias(self, distance: Tensor) -> Tensor:
        head = torch.arange(1, self.heads + 1, device=distance.device)[:, None]  # (H, 1)
        hidden = (head <= self.local) & (distance.abs() >= head)
        return torch.zeros(hidden.shape, device=distance.device).masked_fill(hidden, float("-inf"))
