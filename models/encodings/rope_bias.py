"""RoPE with learned biases on q and k, before the rotation (Su, 2023, https://kexue.fm/archives/9577).

Logits gain terms that depend on one of the two tokens and the distance, and on the distance alone. A
model whose projections have biases has these already.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from models.bounds import Base, Share
from models.encodings.rope import RoPE
from models.ops.rotary import PairRotation


class RoPEBias(RoPE):
    """Equation: (R_i (q_i + a_h))·(R_j (k_j + b_h))/√D, with a_h and b_h learned."""

    is_rotary = False  # the biases are added to whole heads

    def __init__(
        self,
        heads: int,
        head_width: int,
        base: Base = 10_000.0,
        partial: Share = 1.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(head_width, base, partial, layout)
        self.q_bias, self.k_bias = (nn.Parameter(torch.zeros(heads, 1, head_width)) for _ in range(2))

    def rotation(self, q_angle: Tensor, k_angle: Tensor, magnitude: float = 1.0) -> PairRotation:
        return replace(super().rotation(q_angle, k_angle, magnitude), biases=(self.q_bias, self.k_bias))
