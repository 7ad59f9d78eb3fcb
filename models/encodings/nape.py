"""NAPE (Vasylenko et al., 2025, https://arxiv.org/abs/2506.16640): ALiBi in half of the heads.

The first half falls with slopes 1, 1/2, 1/3, ..., as in the authors' code; the other half has no
position and retrieves over any distance. The paper pairs it with a sparse softmax; this is its
position alone.
"""

import torch
from torch import Tensor

from models.encodings.alibi import ALiBi


class NAPE(ALiBi):
    def slopes(self) -> Tensor:
        """Return the slope of each head, (H,): 1, 1/2, ..., 2/H, 0, ..., 0."""
        head = torch.arange(1, self.heads + 1)
        return torch.where(head <= self.heads // 2, 1 / head, 0)
