"""Forgetting Transformer (Lin et al., 2025, https://arxiv.org/abs/2503.02130): a gate that forgets.

A gate in (0, 1) per token and head; a logit falls by the logarithm of every gate between
key and query. CABLE (2503.08067) is the same formula.
"""

from dataclasses import replace

from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from models.effect import Effect, Layer, Positions
from models.encoding import Encoding
from models.ops.linear import init_std
from models.ops.precision import double, linear32


class FoX(Encoding):
    """Equation: q_i·k_j/√D + Σ_{j<t≤i} ln σ(w_h·x_t + b_h)."""

    needs_causal = True  # forgetting runs from the key to the query

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, heads)
        nn.init.normal_(self.gate.weight, std=init_std(width))
        nn.init.zeros_(self.gate.bias)

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        return replace(effect, log_decay=self.log_decay(layer.x))

    def log_decay(self, x: Tensor) -> Tensor:
        """Return the sum of the logarithms of all gates up to each token, (B, H, T)."""
        return double(logsigmoid(linear32(x, self.gate))).cumsum(1).float().mT
