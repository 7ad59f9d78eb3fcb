"""xPos (Sun et al., 2022, https://arxiv.org/abs/2212.10554): RoPE that fades with distance.

Pair f of a product q . k shrinks by zeta_f^((i - j) / scale_base) with
zeta_f = (2f / D + gamma) / (1 + gamma): q is stretched by the power of its position and k by the
inverse power, both counted from the middle of the sequence.
"""

import math

import torch

from models.bounds import Auto, Base, Factor, Positive
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.rope import RoPE, angles, table
from models.ops.precision import double
from models.ops.rotary import PairRotation

STRETCH = 32 * math.log(3.5)  # logarithm of the most that q and k are stretched, half of float32's range


class XPos(Encoding):
    """`scale_base`: the distance at which a pair has shrunk by zeta; by default the training length, as in
    the paper (512). Powers of zeta exceed float32's range far out: the limit is 64 times `scale_base` with
    the authors' gamma.

    Equation: RoPE's logit, with each pair f times ζ_f^((i − j)/scale_base), ζ_f = (2f/D + γ)/(1 + γ).
    """

    needs_causal = True
    is_rotary = True

    def __init__(
        self,
        head_width: int,
        length: int,
        base: Base = 10_000.0,
        scale_base: Factor | Auto = "auto",
        gamma: Positive = 0.4,
        layout: str = "interleaved",
    ) -> None:
        super().__init__()
        self.rope, self.gamma = RoPE(head_width, base, layout=layout), gamma
        self.scale_base = float(length if scale_base == "auto" else scale_base)
        self.limit = round(2 * self.scale_base * STRETCH / math.log((1 + gamma) / gamma))

    def forward(self, positions: Positions) -> Effect:
        angle = angles(positions.at, self.rope.frequencies())
        share = double(torch.arange(0, self.rope.rotated, 2)) / self.rope.rotated
        zeta = (share + self.gamma) / (1 + self.gamma)  # what is left of each pair at distance scale_base
        power = (double(positions.at) - positions.span // 2) / self.scale_base
        stretch = zeta ** power[..., None]  # (T, D/2)
        of_q, of_k = table(angle, stretch), table(angle, 1 / stretch)
        return Effect(positions, rotate=PairRotation(of_q, of_k, self.rope.layout, is_wide=True))
