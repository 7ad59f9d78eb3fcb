"""Scale-invariant attention (Anson et al., 2025, https://arxiv.org/abs/2505.17083) on p-RoPE.

A logit at distance t becomes a_t logit + m_t with a_t = sqrt(2 ln(1 + t / tau) + 1) and
m_t = -2 ln(1 + t / tau): if logits are normal, each octave of distances gets about the same total
weight, and attention within it grows sparser. Nothing changes at distance 0. The constants follow from
the paper's two conditions and agree with a summary of it; its best tau is 10.
"""

from dataclasses import replace

from torch import Tensor

from models.bounds import Base, Positive, Share
from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encodings.p_rope import PRoPE


class ScaleInvariant(PRoPE):
    """`tau`: the distance in tokens up to which attention hardly changes.

    Equation: a q_i·k_j/√D + m of p-RoPE, with a = √(2 ln(1 + (i − j)/τ) + 1) and m = −2 ln(1 + (i − j)/τ).
    """

    def __init__(
        self,
        head_width: int,
        base: Base = 10_000.0,
        proportion: Share = 0.75,
        layout: str = "interleaved",
        tau: Positive = 10.0,
    ) -> None:
        super().__init__(head_width, base, proportion, layout)
        self.tau = tau

    def forward(self, positions: Positions) -> Effect:
        score_scale = ByDistance(lambda distance: (2 * self.growth(distance) + 1).sqrt())
        shift = ByDistance(lambda distance: -2 * self.growth(distance))
        return replace(super().forward(positions), score_scale=score_scale, bias=shift)

    def growth(self, distance: Tensor) -> Tensor:
        """Return ln(1 + t / tau) for each distance t, (1, N)."""
        return (distance.abs().float() / self.tau).log1p()[None]
