"""Rotary position embedding (Su et al., 2021, https://arxiv.org/abs/2104.09864).

Each pair of features of q and of k turns by position * frequency, so that their product
depends on the distance alone.
"""

import torch
from torch import Tensor

from models.effect import Effect, Encoding, Positions, Rotate
from models.kernels.turn import turn


class RoPE(Encoding):
    """`base`: frequencies are base^(-2f/D). `partial`: the share of features that turn; an odd last feature
    does not. `layout`: which features pair up, `interleaved` (2f, 2f + 1) as in the paper, the faster one on
    a CPU, or `half` (f, f + D/2) as in Llama; the two differ by a permutation of features."""

    def __init__(
        self, head_width: int, base: float = 10_000.0, partial: float = 1.0, layout: str = "interleaved"
    ) -> None:
        super().__init__()
        if layout not in ("half", "interleaved"):
            raise ValueError(f"RoPE's layout is '{layout}', but the layouts are: half, interleaved.")
        self.base, self.layout = float(base), layout
        self.turning = 2 * int(head_width * partial / 2)

    def frequencies(self) -> Tensor:
        """(D/2,) radians per position, fastest first, in float64."""
        return geometric(self.turning, self.base)

    def forward(
        self, positions: Positions, frequencies: Tensor | None = None, magnitude: float = 1.0
    ) -> Effect:
        turn = angles(positions.at, self.frequencies() if frequencies is None else frequencies)
        return Effect(positions, rotate=self.rotation(turn, turn, magnitude))

    def rotation(self, q_turn: Tensor, k_turn: Tensor, magnitude: float = 1.0) -> Rotate:
        """Turn q by `q_turn` and k by `k_turn` (T, D/2), and stretch both by `magnitude`."""
        q_cos, q_sin = table(q_turn, magnitude)
        k_cos, k_sin = (q_cos, q_sin) if k_turn is q_turn else table(k_turn, magnitude)

        def rotate(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
            return turned(q, q_cos, q_sin, self.layout), turned(k, k_cos, k_sin, self.layout)

        return rotate


def geometric(width: int, base: float) -> Tensor:
    """(width / 2,) base^0, base^(-2/width), base^(-4/width), ..."""
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def angles(at: Tensor, frequencies: Tensor) -> Tensor:
    """(T, D/2) how far each frequency has turned at each position, in float64: at position 100,000
    an angle in float32 is 0.005 radians off."""
    return at.double()[:, None] * frequencies.to(at.device)


def table(turn: Tensor, magnitude: float) -> tuple[Tensor, Tensor]:
    """Cosine and sine, each (T, D/2) float32."""
    return (magnitude * turn.cos()).float(), (magnitude * turn.sin()).float()


def turned(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """x (B, H, T, D) with its first 2 * cos.size(-1) features turned, in float32, cast last."""
    turning, still = x[..., : 2 * cos.size(-1)], x[..., 2 * cos.size(-1) :]
    result = turn(turning, cos, sin, layout)
    return torch.cat([result, still], dim=-1) if still.size(-1) else result
