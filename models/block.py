"""A block of a transformer: attention and a small network, each after a norm and without biases."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.attention import attend_with_state
from models.attention.plan import Plan
from models.cache import LayerCache
from models.effect import Layer
from models.ops.linear import Linear, init_std, split_heads
from models.ops.norm import rms_norm


@dataclass(frozen=True)
class BlockShape:
    """The sizes of a block, and its variants."""

    width: int
    heads: int
    kv_heads: int | None = None  # heads of k and v, each shared by a group of queries; None: as many as of q
    norm: Literal["rms", "layer"] = "rms"
    mlp: Literal["gelu", "swiglu"] = "gelu"
    qk_norm: bool = False  # RMSNorm of each head of q and k, before any rotation
    depth_init: Literal["total", "layer"] = "total"  # which depth scales the weights that write to x
    kernel: str = "auto"

    @property
    def head_width(self) -> int:
        return self.width // self.heads


class Block(nn.Module):
    def __init__(self, shape: BlockShape, number: int) -> None:
        super().__init__()
        self.shape, self.number = shape, number
        self.norm1, self.attention = Norm(shape.norm, shape.width), Attention(shape, number)
        self.norm2, self.mlp = Norm(shape.norm, shape.width), MLPS[shape.mlp](shape.width)

    def forward(
        self, x: Tensor, plan: Plan, state: Any = None, cache: LayerCache | None = None
    ) -> tuple[Tensor, Any]:
        """Return x (B, R, C) of the last R tokens after this block, and the state for the next one."""
        y, state = self.attention(self.norm1(x), plan, state, cache)
        x = x[:, x.size(1) - y.size(1) :] + y
        return x + self.mlp(self.norm2(x)), state

    def initialise(self, depth: int) -> None:
        """Initialise weights as GPT-2 does. Those that write to x are smaller by sqrt(2 depth), or by the
        depth of this block."""
        std = init_std(self.shape.width)
        for linear in (self.attention.qkv, self.mlp.up):
            nn.init.normal_(linear.weight, std=std)
        depth = self.number + 1 if self.shape.depth_init == "layer" else depth
        for linear in (self.attention.out, self.mlp.down):
            nn.init.normal_(linear.weight, std=std * (2 * depth) ** -0.5)


class Attention(nn.Module):
    def __init__(self, shape: BlockShape, number: int) -> None:
        super().__init__()
        self.heads, self.kernel, self.number = shape.heads, shape.kernel, number
        self.kv_heads = shape.kv_heads or shape.heads
        self.qkv = Linear(shape.width, (shape.heads + 2 * self.kv_heads) * shape.head_width)
        self.out = Linear(shape.width, shape.width)
        self.q_norm, self.k_norm = (
            Norm("rms", shape.head_width) if shape.qk_norm else None for _ in range(2)
        )

    def forward(
        self, x: Tensor, plan: Plan, state: Any = None, cache: LayerCache | None = None
    ) -> tuple[Tensor, Any]:
        layer = self.layer(x, state, cache)
        y, state = attend_with_state(layer.q, layer.k, layer.v, plan.at_layer(layer), self.kernel, state)
        return self.out(y.transpose(1, 2).flatten(2)), state

    def layer(self, x: Tensor, state: Any = None, cache: LayerCache | None = None) -> Layer:
        """Return the content of this layer for the normalised input x (B, T, C)."""
        q, k, v = split_heads(self.qkv(x), self.heads, self.kv_heads)  # (B, H, T, D), (B, G, T, D)
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        if cache is not None:
            k, v, x = cache.extend(k, v, x)
            q = F.pad(q, (0, 0, k.size(2) - q.size(2), 0))  # earlier queries are not wanted
        return Layer(x, q, k, v, self.number, state)


class Norm(nn.Module):
    """RMSNorm or LayerNorm, with a learned gain and without bias."""

    def __init__(self, norm: str, width: int) -> None:
        super().__init__()
        self.norm, self.weight = norm, nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        if self.norm == "rms":
            return rms_norm(x, self.weight)
        return F.layer_norm(x, x.shape[-1:], self.weight)


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
