"""Gated attention (Qiu et al., 2025, https://arxiv.org/abs/2505.06708): a gate on what each head reads.

Here a gate is a number for each head, one of the two published forms. Layers have gates of their own with
`encoding.share=false`.
"""

from torch import Tensor, nn

from models.change import Before, Change, Stage
from models.effect import Effect, Positions
from models.ops.linear import init_std
from models.ops.precision import linear32


class OutputGate(Change):
    """A gate on the output of each head.

    Equation: σ(W_g x_i)_h Σ_j a_ij v_j as the output of head h.
    """

    stage = Stage.OUTPUT
    is_late = True

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, heads, bias=False)
        nn.init.normal_(self.gate.weight, std=init_std(width))

    def forward(self, positions: Positions, before: Before) -> Effect:
        effect = before.at(positions)
        if before.layer is None:
            return effect
        gate = linear32(before.layer.x, self.gate).sigmoid().mT[..., None]  # (B, H, T, 1)

        def shut(out: Tensor) -> Tensor:
            return (out * gate[:, :, gate.size(2) - out.size(2) :]).to(out.dtype)

        return effect.around(shut)
