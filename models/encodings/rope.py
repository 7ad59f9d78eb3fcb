"""Rotary position embedding (Su et al., 2021, https://arxiv.org/abs/2104.09864).

Each pair of features of q and of k is rotated by position * frequency, so that their product
depends on the distance alone.
"""

import torch
from torch import Tensor

from conf.errors import UsageError
from models.bounds import Base, Share
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops.precision import double
from models.ops.rotary import PairRotation


class RoPE(Encoding):
    """`base`: frequencies are base^(-2f/D). `partial`: the share of features that are rotated, rounded to
    pairs. `layout`: which features pair up, `interleaved` (2f, 2f + 1) as in the paper, the faster one
    on a CPU, or `half` (f, f + D/2) as in Llama; the two differ by a permutation of features.

    Equation: (R_i q_i)·(R_j k_j)/√D, where R_t turns pair f by the angle t θ_f, with θ_f = base^(−2f/D).
    """

    is_rotary = True

    def __init__(
        self, head_width: int, base: Base = 10_000.0, partial: Share = 1.0, layout: str = "interleaved"
    ) -> None:
        super().__init__()
        if layout not in ("half", "interleaved"):
            raise UsageError(f"RoPE's layout is '{layout}', but the layouts are: half, interleaved.")
        self.base, self.layout = float(base), layout
        self.rotated = 2 * min(head_width // 2, round(head_width * partial / 2))  # features

    def frequencies(self) -> Tensor:
        """Return radians per position, fastest first, (D/2,) in float64."""
        return geometric(self.rotated, self.base)

    def forward(self, positions: Positions) -> Effect:
        angle = angles(positions.at, self.frequencies())
        return Effect(positions, rotate=self.rotation(angle, angle))

    def rotation(self, q_angle: Tensor, k_angle: Tensor, magnitude: float = 1.0) -> PairRotation:
        """Return a rotation of q by `q_angle` and of k by `k_angle`, each (T, D/2) or (B, T, D/2), both
        stretched by `magnitude`. Extensions call this with other angles."""
        of_q = table(q_angle, magnitude)
        return PairRotation(of_q, of_q if k_angle is q_angle else table(k_angle, magnitude), self.layout)


def geometric(width: int, base: float) -> Tensor:
    """Return base^0, base^(-2/width), base^(-4/width), ..., (width / 2,)."""
    return base ** (-double(torch.arange(0, width, 2)) / width)


def angles(at: Tensor, frequencies: Tensor) -> Tensor:
    """Return position * frequency, (T, F) or (B, T, F), in float64: at position 100,000 an angle in float32
    is 0.005 radians off."""
    return double(at)[..., None] * frequencies


def table(angle: Tensor, magnitude: float | Tensor = 1.0) -> tuple[Tensor, Tensor]:
    """Return cosine and sine times `magnitude`, each (T, F) or (B, 1, T, F) float32."""
    cos, sin = (magnitude * angle.cos()).float(), (magnitude * angle.sin()).float()
    return (cos, sin) if angle.dim() == 2 else (cos.unsqueeze(1), sin.unsqueeze(1))
