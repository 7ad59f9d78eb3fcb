"""ALiBi with learned slopes, as in the code of Kazemnejad et al. (2023, https://arxiv.org/abs/2305.19466)."""

from torch import nn

from models.effect import ByDistance, Effect, Positions
from models.encoding import Encoding
from models.encodings.alibi import slopes


class ALiBiLearned(Encoding):
    """The logarithms of the slopes are trained, from ALiBi's on, so that no slope changes its sign."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.log_slope = nn.Parameter(slopes(heads).log())

    def forward(self, positions: Positions) -> Effect:
        slope = self.log_slope.float().exp()  # (H,)
        number = ByDistance.of_heads(slope.numel(), lambda head, distance: -slope[head] * distance.abs())
        return Effect(positions, bias=number)
