"""The small networks of a block, without biases."""

from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn

from models.ops.linear import Linear


class MLP(nn.Module):
    """GELU between layers of four times the width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = Linear(width, 4 * width), Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.down(F.gelu(self.up(x))))


class SwiGLU(nn.Module):
    """A gated layer (Shazeer, 2020, https://arxiv.org/abs/2002.05202) with as many weights as `MLP`: the
    inner width is 8/3 of the width, rounded up to a multiple of 8."""

    def __init__(self, width: int) -> None:
        super().__init__()
        inner = -(-width // 3) * 8
        self.up, self.down = Linear(width, 2 * inner), Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        gate, content = self.up(x).chunk(2, dim=-1)
        return cast(Tensor, self.down(F.silu(gate) * content))


MLPS: dict[str, type[MLP | SwiGLU]] = {"gelu": MLP, "swiglu": SwiGLU}
