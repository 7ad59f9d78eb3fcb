"""ASEntmax (Vasylenko et al., 2025, https://arxiv.org/abs/2506.16640): NAPE with a sparse, scaled softmax.

Weights come from entmax. In the heads without position, q grows with the logarithm of its position: by how
much, and with what power, follows from the content.
"""

from dataclasses import replace

from torch import Tensor, nn
from torch.nn.functional import pad, softplus

from models.effect import Effect, Layer, Positions
from models.encodings.alibi import NAPE
from models.ops.linear import init_std
from models.ops.precision import linear32
from models.options.entmax import entmax15


class ASEntmax(NAPE):
    """Heads with slopes as in NAPE; the others scale q.

    Equation: entmax of s_i q_i·k_j/√D − m_h (i − j), with m_h as in NAPE, and s_i = 1 + softplus(w·x_i)
    ln(i + 2)^(2 tanh(u·x_i)) where m_h = 0, else 1.
    """

    relative = False

    def __init__(self, heads: int, width: int) -> None:
        super().__init__(heads)
        self.free = heads - heads // 2  # heads without position
        self.strength, self.power = (nn.Linear(width, self.free, bias=False) for _ in range(2))
        for layer in (self.strength, self.power):
            nn.init.normal_(layer.weight, std=init_std(width))

    def forward(self, positions: Positions) -> Effect:
        return super().forward(positions).with_weights(entmax15)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        scale = self.scale(layer.x, effect.positions.at)[..., None]  # (B, H, T, 1)
        return replace(effect, rotate=lambda q, k: ((q * scale).to(q.dtype), k))

    def scale(self, x: Tensor, at: Tensor) -> Tensor:
        """Return the factor on q of each token in each head, (B, H, T)."""
        strength, power = softplus(linear32(x, self.strength)), 2 * linear32(x, self.power).tanh()
        scale = 1 + strength * (at.float() + 2).log()[..., None] ** power  # (B, T, free heads)
        return pad(scale, (self.heads - self.free, 0), value=1.0).mT
