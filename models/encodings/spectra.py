"""RoPE with other frequencies, trained from scratch: everything else is RoPE.

Each class names its paper. Frequencies are radians a position, fastest first.
"""

import math

import torch
from torch import Tensor, nn

from models.bounds import Base, Count, Positive
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.rope import RoPE, geometric
from models.ops.precision import double
from models.ops.rotary import PairRotation


class HighFrequencyRoPE(RoPE):
    """HoPE (Chen et al., 2024, https://arxiv.org/abs/2410.21216): pairs that complete no turn within the
    training length do not rotate.

    Equation: RoPE's logit, with θ_f = base^(−2f/D) where that is at least 2π/L, else 0.
    """

    def __init__(
        self, head_width: int, length: int, base: Base = 10_000.0, layout: str = "interleaved"
    ) -> None:
        super().__init__(head_width, base, layout=layout)
        self.length = length

    def frequencies(self) -> Tensor:
        frequencies = super().frequencies()
        return frequencies * (frequencies * self.length >= 2 * math.pi)


class FMRoPE(RoPE):
    """FMRoPE (Oka, 2026, https://openreview.net/forum?id=PR1PPxvG9Q): the base is the training length.

    Equation: RoPE's logit, with θ_f = L^(−2f/D).
    """

    def __init__(self, head_width: int, length: int, layout: str = "interleaved") -> None:
        super().__init__(head_width, max(2.0, float(length)), layout=layout)


class EVQRoPE(RoPE):
    """EVQ-Cosh (2026, https://github.com/misaya-yang/hybrid-rope): base^-phi at the midpoints u of the pairs,
    with phi = 1 - asinh((1 - u) sinh tau) / tau, which crowds the fast end.

    Equation: RoPE's logit, with θ_f = base^(−φ), φ = 1 − asinh((1 − u) sinh τ)/τ and u = (f + 1/2)/(D/2).
    """

    def __init__(
        self, head_width: int, base: Base = 10_000.0, tau: Positive = 1.414, layout: str = "interleaved"
    ) -> None:
        super().__init__(head_width, base, layout=layout)
        self.tau = tau

    def frequencies(self) -> Tensor:
        pairs = self.rotated // 2
        middle = (double(torch.arange(pairs)) + 0.5) / pairs
        exponent = 1 - ((1 - middle) * math.sinh(self.tau)).asinh() / self.tau
        return self.base**-exponent


class LearnedRoPE(RoPE):
    """LeRoPE (2026, https://arxiv.org/abs/2607.10134): RoPE's frequencies times learned numbers, from 1.

    Equation: RoPE's logit, with θ_f = w_f base^(−2f/D) and w_f learned.
    """

    def __init__(self, head_width: int, base: Base = 10_000.0, layout: str = "interleaved") -> None:
        super().__init__(head_width, base, layout=layout)
        self.multiplier = nn.Parameter(torch.ones(self.rotated // 2))

    def frequencies(self) -> Tensor:
        return super().frequencies() * double(self.multiplier)


class MobiusRoPE(Encoding):
    """Möbius RoPE (2026, https://arxiv.org/abs/2607.21405): in a quarter of the heads, the first ones, pair k
    turns by pi (2k + 1) / L a position; the other heads have RoPE.

    Equation: RoPE's logit, with θ_f = π (2f + 1)/L in the first heads, base^(−2f/D) in the others.
    """

    is_rotary = True

    def __init__(
        self,
        heads: int,
        head_width: int,
        length: int,
        base: Base = 10_000.0,
        twisted: Count | None = None,
        layout: str = "interleaved",
    ) -> None:
        super().__init__()
        self.heads, self.pairs, self.length = heads, head_width // 2, length
        self.base, self.layout = float(base), layout
        self.twisted = max(1, heads // 4) if twisted is None else min(twisted, heads)

    def frequencies(self) -> Tensor:
        """Return radians per position of each head, (H, D/2) in float64."""
        odd = math.pi * (2 * double(torch.arange(self.pairs)) + 1) / self.length
        plain = geometric(2 * self.pairs, self.base)
        return torch.stack([odd] * self.twisted + [plain] * (self.heads - self.twisted))

    def forward(self, positions: Positions) -> Effect:
        angle = double(positions.at)[..., None, :, None] * self.frequencies()[:, None]  # (..., H, T, D/2)
        return Effect(positions, rotate=PairRotation.by(angle, self.layout))
