"""NoPE: no position at all (Haviv et al., 2022, https://arxiv.org/abs/2203.16634; Kazemnejad et al., 2023,
https://arxiv.org/abs/2305.19466). Order comes from the causal mask alone."""

from models.effect import Effect, Positions
from models.encoding import Encoding


class NoPE(Encoding):
    """Equation: q_i·k_j/√D."""

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)
