"""RePo (Li et al., 2025, https://arxiv.org/abs/2512.14391): each token and head chooses its own position.

A small network of the hidden state gives a real position for RoPE; the causal mask alone gives order. The
first layers keep whole positions, as in the authors' models: five of sixteen.
"""

from dataclasses import replace

from torch import Tensor, nn
from torch.nn.functional import silu

from models.bounds import Auto, Base, Whole
from models.effect import Effect, Layer
from models.encodings.rope import RoPE
from models.ops.precision import double, linear32
from models.ops.rotary import PairRotation


class RePo(RoPE):
    """`whole_layers`: the number of first layers with whole positions; auto: 5/16 of the depth.

    Equation: RoPE's logit, with p_t θ_f as the angle of token t, and p_t = w_h·(silu(A x_t) ⊙ B x_t).
    """

    relative = True

    def __init__(
        self,
        heads: int,
        head_width: int,
        width: int,
        depth: int,
        base: Base = 500_000.0,
        whole_layers: Whole | Auto = "auto",
        layout: str = "interleaved",
    ) -> None:
        super().__init__(head_width, base, layout=layout)
        self.whole_layers = round(depth * 5 / 16) if whole_layers == "auto" else int(whole_layers)
        hidden = max(1, width // 8)
        self.gate, self.content = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.place = nn.Linear(hidden, heads, bias=False)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        if layer.number < self.whole_layers:
            return effect
        angle = double(self.positions_of(layer.x))[..., None] * self.frequencies()  # (B, H, T, D/2)
        return replace(effect, rotate=PairRotation.by(angle, self.layout))

    def positions_of(self, x: Tensor) -> Tensor:
        """Return the position of each token in each head, (B, H, T) float32."""
        return linear32(silu(linear32(x, self.gate)) * linear32(x, self.content), self.place).mT
