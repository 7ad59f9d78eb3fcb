"""BAM (Bianchessi et al., 2025, https://arxiv.org/abs/2505.22842): a generalised Gaussian prior on distance.

Per head and layer, the logarithm of its density with a learned scale and exponent: ALiBi where
it starts, heads with a negative exponent look away from themselves and retrieve.
"""

import torch
from torch import Tensor, nn

from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.alibi import slopes


class BAM(Encoding):
    """The prior's location is held at 0.

    Equation: q_i·k_j/√D − exp(w_h) (i − j + 10⁻⁵)^(e_h), with w_h and e_h learned.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(slopes(heads).log())
        self.exponent = nn.Parameter(torch.ones(heads))

    def forward(self, positions: Positions) -> Effect:
        scale, exponent = self.log_scale.float().exp(), self.exponent.float()  # (H,)

        def bias(head: Tensor, distance: Tensor) -> Tensor:
            return -scale[head] * (distance.abs() + 1e-5) ** exponent[head]

        return Effect(positions, bias=ByDistance.of_heads(scale.numel(), bias))
