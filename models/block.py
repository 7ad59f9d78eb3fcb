"""A block of a transformer: attention and a small network, each after a norm and without biases."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from conf.errors import UsageError
from models.attention import attend_with_state
from models.attention.plan import Plan
from models.cache import LayerCache
from models.effect import Effect, Layer
from models.mlp import MLPS
from models.ops.linear import Linear, init_std, split_heads
from models.ops.norm import rms_norm


@dataclass(frozen=True)
class BlockShape:
    """The sizes of a block, and its variants."""

    width: int
    heads: int
    kv_heads: int | None = None  # heads of k and v, each shared by a group of queries; None: as many as of q
    latent: int | None = None  # width of the vector that keys and values are read from; None: as wide as x
    rotary: int = 8  # with `latent`, the features of each head that positions turn
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
        kind = Attention if shape.latent is None else LatentAttention
        self.norm1, self.attention = Norm(shape.norm, shape.width), kind(shape, number)
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
        for linear in (*self.attention.readers, self.mlp.up):
            nn.init.normal_(linear.weight, std=init_std(linear.in_features))
        depth = self.number + 1 if self.shape.depth_init == "layer" else depth
        for linear in (self.attention.out, self.mlp.down):
            nn.init.normal_(linear.weight, std=std * (2 * depth) ** -0.5)


class Attention(nn.Module):
    def __init__(self, shape: BlockShape, number: int) -> None:
        super().__init__()
        self.heads, self.kernel, self.number = shape.heads, shape.kernel, number
        self.make_readers(shape)
        self.out = Linear(shape.width, shape.width)
        self.q_norm, self.k_norm = (
            Norm("rms", shape.head_width) if shape.qk_norm else None for _ in range(2)
        )

    def make_readers(self, shape: BlockShape) -> None:
        """Make the layers that read x."""
        self.kv_heads = shape.kv_heads or shape.heads
        self.qkv = Linear(shape.width, (shape.heads + 2 * self.kv_heads) * shape.head_width)

    @property
    def readers(self) -> list[Linear]:
        """Return all linear layers but the last."""
        return [self.qkv]

    def forward(
        self, x: Tensor, plan: Plan, state: Any = None, cache: LayerCache | None = None
    ) -> tuple[Tensor, Any]:
        layer = self.layer(x, state, cache)
        plan = plan.at_layer(layer)
        self.check(plan.effect)
        y, state = attend_with_state(layer.q, layer.k, layer.v, plan, self.kernel, state)
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

    def check(self, effect: Effect) -> None:
        """Raise UsageError if this kind of attention cannot carry out an effect."""


class LatentAttention(Attention):
    """Multi-head latent attention (DeepSeek-V2, 2024, https://arxiv.org/abs/2405.04434), with plain queries.

    The keys and values of all heads are read from one small vector of each token, the latent. The first
    features of a head are the ones that positions turn; in k they are the same for all heads, and are read
    from x. A cache keeps them and the latent in place of k and v.
    """

    def make_readers(self, shape: BlockShape) -> None:
        assert shape.latent is not None
        self.rotary, self.content = shape.rotary, shape.head_width - shape.rotary
        self.q = Linear(shape.width, shape.width)
        self.down = Linear(shape.width, shape.rotary + shape.latent)
        self.norm = Norm("rms", shape.latent)
        self.up = Linear(shape.latent, shape.heads * (self.content + shape.head_width))

    @property
    def readers(self) -> list[Linear]:
        return [self.q, self.down, self.up]

    def layer(self, x: Tensor, state: Any = None, cache: LayerCache | None = None) -> Layer:
        q, small = self.q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2), self.down(x)  # (B, H, T, D)
        if cache is not None:
            small, x = cache.extend(small, x)
            q = F.pad(q, (0, 0, x.size(1) - q.size(2), 0))  # earlier queries are not wanted
        shared, latent = small.tensor_split([self.rotary], -1)  # of k, (B, T, R); (B, T, L)
        heads = self.up(self.norm(latent)).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        content, v = heads.tensor_split([self.content], -1)  # (B, H, T, D - R), (B, H, T, D)
        k = torch.cat([shared.unsqueeze(1).expand(-1, self.heads, -1, -1), content], -1)
        return Layer(x, q, k, v, self.number, state)

    def check(self, effect: Effect) -> None:
        if effect.rotate is not None and getattr(effect.rotate, "width", math.inf) > self.rotary:
            raise UsageError(
                "This encoding changes all features of q and k, and with model.latent positions turn "
                f"model.rotary={self.rotary} of a head: choose another encoding, or model.latent=null."
            )


class Norm(nn.Module):
    """RMSNorm or LayerNorm, with a learned gain and without bias."""

    def __init__(self, norm: str, width: int) -> None:
        super().__init__()
        self.norm, self.weight = norm, nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        if self.norm == "rms":
            return rms_norm(x, self.weight)
        return F.layer_norm(x, x.shape[-1:], self.weight)
