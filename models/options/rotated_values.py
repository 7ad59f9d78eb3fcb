"""RoVE (2026, https://arxiv.org/abs/2606.11275): values turn with keys, and outputs back with queries.

A query reads each value rotated by the distance between the two tokens. Any rotation of pairs can be used,
with the angles of an extension as well; magnitudes of q and k do not touch values. Without the rotations of q
and k it is VO-RoPE (Su, 2025, https://kexue.fm/archives/10862).
"""

from dataclasses import replace

from torch import Tensor

from conf.errors import UsageError
from models.change import Before, Change, Stage
from models.effect import Effect, Positions
from models.ops.rotary import PairRotation, rotate_pairs

POSITION = {
    "embed",
    "rotate",
    "regions",
    "bias",
    "log_decay",
    "adjust",
    "attention",
}  # parts that place tokens


class RotatedValues(Change):
    """Values that turn as keys do; where tokens have no position, nothing turns.

    Equation: R_i⁻¹ Σ_j a_ij R_j v_j as the output, with R_t the rotation of q and k.
    """

    stage = Stage.OUTPUT

    def forward(self, positions: Positions, before: Before) -> Effect:
        effect = before.at(positions)
        rotate = effect.rotate
        is_unknown = before.base.is_late and before.layer is None
        if is_unknown or not effect.parts & POSITION:
            return effect
        if not (isinstance(rotate, PairRotation) and rotate.is_pure):
            raise UsageError(
                f"Values cannot turn with {type(before.base).__name__}, which rotates no pairs of features."
            )
        layout, ((q_cos, q_sin), (k_cos, k_sin)) = rotate.layout, rotate.turns()

        def turn(v: Tensor) -> Tensor:
            return rotate_pairs(v, k_cos, k_sin, layout)

        def turn_back(out: Tensor) -> Tensor:
            rows = slice(q_cos.size(-2) - out.size(-2), None)
            return rotate_pairs(out, q_cos[..., rows, :], -q_sin[..., rows, :], layout)

        return effect.around(turn_back, turn)


class RotatedValuesOnly(RotatedValues):
    """VO-RoPE: values turn, q and k do not.

    Equation: R_i⁻¹ Σ_j a_ij R_j v_j as the output, with logits q_i·k_j/√D.
    """

    def forward(self, positions: Positions, before: Before) -> Effect:
        return replace(super().forward(positions, before), rotate=None, regions=None)
