"""The models that are timed: ours, and others of its shape with every kind of attention that they have."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encodings import layers
from models.gpt import GPT
from models.registry import read
from train.fit.loss import mean_loss

ATTENTION = ("eager", "sdpa")


@dataclass(frozen=True)
class Shape:
    vocab: int = 4096
    width: int = 128
    depth: int = 4
    heads: int = 4
    length: int = 128
    batch: int = 32

    @property
    def head_width(self) -> int:
        return self.width // self.heads


@dataclass(frozen=True)
class Options:
    """The settings that the parts of the benchmarks share."""

    encodings: list[str]
    rounds: int  # training steps of each model
    shape: Shape


def ours(name: str, shape: Shape) -> GPT:
    settings = {key: getattr(shape, key) for key in ("heads", "head_width", "width", "depth", "length")}
    encodings = layers(read("encoding", name), shape.depth, settings)
    return GPT(shape.vocab, shape.width, shape.depth, shape.heads, encodings)


def loss_of(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """Return the mean loss of a model of ours, of transformers, or of another that returns logits."""
    if isinstance(model, GPT):
        return mean_loss(model, tokens, targets)
    output = model(tokens)
    logits = output if isinstance(output, Tensor) else output.logits  # (B, T, V)
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def transformers(name: str, shape: Shape, attention: str) -> nn.Module:
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        name, vocab_size=shape.vocab, hidden_size=shape.width, num_hidden_layers=shape.depth,
        num_attention_heads=shape.heads, max_position_embeddings=shape.length, tie_word_embeddings=True,
        attn_implementation=attention, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    if name == "llama":  # its three matrices of 8/3 of the width are as many weights as two of 4
        config.intermediate_size = shape.width * 8 // 3
    model: nn.Module = AutoModelForCausalLM.from_config(config)
    return model


def x_transformers(shape: Shape, attention: str) -> nn.Module:
    from x_transformers import Decoder, TransformerWrapper

    decoder = Decoder(
        dim=shape.width, depth=shape.depth, heads=shape.heads, attn_dim_head=shape.head_width,
        rotary_pos_emb=True, attn_flash=attention == "sdpa", use_rmsnorm=True,
    )  # fmt: skip
    model: nn.Module = TransformerWrapper(
        num_tokens=shape.vocab, max_seq_len=shape.length, attn_layers=decoder, use_abs_pos_emb=False,
        tie_embedding=True,
    )  # fmt: skip
    return model


class Plain(nn.Module):
    """A GPT with RoPE as a tutorial writes it, for a compiler to fuse."""

    def __init__(self, shape: Shape, attention: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(shape.vocab, shape.width)
        self.blocks = nn.ModuleList(PlainBlock(shape, attention) for _ in range(shape.depth))
        self.norm, self.head = nn.RMSNorm(shape.width), nn.Linear(shape.width, shape.vocab, bias=False)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.head.weight = self.embed.weight
        rates = 10_000.0 ** -(torch.arange(0, shape.head_width, 2) / shape.head_width)
        angle = torch.arange(shape.length)[:, None] * rates  # (T, D/2)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)  # (B, T, C)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits: Tensor = self.head(self.norm(x))  # (B, T, V)
        return logits


class PlainBlock(nn.Module):
    def __init__(self, shape: Shape, attention: str) -> None:
        super().__init__()
        width, self.heads, self.attention = shape.width, shape.heads, attention
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
        hidden = torch.full((shape.length, shape.length), float("-inf")).triu(1)
        self.register_buffer("hidden", hidden)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)  # (B, H, T, D)
        if self.attention == "sdpa":
            read = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            read = (q @ k.mT * q.size(-1) ** -0.5 + self.hidden).softmax(-1).to(v.dtype) @ v
        x = x + self.out(read.transpose(1, 2).flatten(2))  # (B, T, C)
        result: Tensor = x + self.down(F.gelu(self.up(self.norm2(x))))
        return result


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).to(x.dtype)


PEERS: dict[str, Callable[[Shape, str], nn.Module]] = {
    "transformers_gpt2": lambda shape, attention: transformers("gpt2", shape, attention),
    "transformers_llama": lambda shape, attention: transformers("llama", shape, attention),
    "x_transformers": x_transformers,
    "plain_pytorch": Plain,
}
