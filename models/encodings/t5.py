"""T5 bias (Raffel et al., 2019, https://arxiv.org/abs/1910.10683): learned per head and bucket of distances.

Near distances have a bucket each, farther ones share buckets that grow geometrically up to `reach`,
and everything beyond is one bucket, which is how it extrapolates. The table is in units of sqrt(D), as
logits are before they are scaled.
"""

import math

import torch
from torch import Tensor, nn

from conf.errors import UsageError
from models.bounds import Auto, Count
from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops.precision import double


class T5(Encoding):
    """`reach: auto` is T5's 128, but at most half the training length, as buckets beyond would never be
    trained.

    Equation: q_i·k_j/√D + √D b_h(bucket(i − j)), with a learned number b_h for each bucket.
    """

    needs_whole = True

    def __init__(
        self, heads: int, head_width: int, length: int, buckets: Count = 32, reach: Count | Auto = "auto"
    ) -> None:
        super().__init__()
        self.reach = max(min(128, length // 2), buckets // 2 + 1) if reach == "auto" else int(reach)
        if buckets < 4 or buckets % 4 or self.reach <= buckets // 2:
            raise UsageError(
                f"T5 needs buckets divisible by 4 and reach above half of them, not {buckets}, {self.reach}."
            )
        self.scale = head_width**0.5
        self.table = nn.Parameter(torch.zeros(heads, buckets))

    def forward(self, positions: Positions) -> Effect:
        def bias(distance: Tensor) -> Tensor:
            buckets = bucket(distance, self.table.size(1), self.reach, positions.causal)
            return self.scale * self.table[:, buckets].float()

        return Effect(positions, bias=ByDistance(bias))


def bucket(distance: Tensor, buckets: int, reach: int, causal: bool = True) -> Tensor:
    """Return the bucket of each distance (query minus key); keys ahead use the upper half."""
    if not causal:
        return bucket(distance.abs(), buckets // 2, reach) + (distance < 0) * (buckets // 2)
    near, distance = buckets // 2, distance.clamp(min=0)
    growth = (double(distance.clamp(min=near)) / near).log() / math.log(reach / near)
    return torch.where(distance < near, distance, (near + (growth * near).long()).clamp(max=buckets - 1))
