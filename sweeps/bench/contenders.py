"""The models that are timed: ours, and others of its shape, each library's with every kind of attention it
has."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encodings import layers
from models.gpt import GPT
from models.registry import read
from train.fit.compiling import compile_each
from train.fit.loss import mean_loss

Loss = Callable[[Tensor, Tensor], Tensor]
Make = Callable[[], tuple[nn.Module, Loss]]
PEERS = ("transformers_gpt2", "transformers_llama", "x_transformers", "plain_pytorch")
ATTENTION = ("eager", "sdpa")


@dataclass(frozen=True)
class Shape:
    vocab: int = 4096
    width: int = 128
    depth: int = 4
    heads: int = 4
    length: int = 128
    batch: int = 32

    def __str__(self) -> str:
        model = f"vocab {self.vocab}, width {self.width}, depth {self.depth}, heads {self.heads}"
        return f"{model}, {self.length} tokens, batch {self.batch}"

    @property
    def head(self) -> int:
        """The width of one."""
        return self.width // self.heads


def ours(name: str, shape: Shape) -> tuple[nn.Module, Loss]:
    built = {"heads": shape.heads, "head_width": shape.head, "width": shape.width} | {
        "depth": shape.depth, "length": shape.length,
    }  # fmt: skip
    encodings = layers(read("encoding", name), shape.depth, built)
    model = GPT(shape.vocab, shape.width, shape.depth, shape.heads, encodings)
    return model, lambda tokens, targets: mean_loss(model, tokens, targets)


def peers(shape: Shape) -> dict[str, Make]:
    """Every peer with every kind of attention, such as "x_transformers eager"."""
    return {f"{name} {kind}": partial(peer, name, kind, shape) for name in PEERS for kind in ATTENTION}


def peer(name: str, attention: str, shape: Shape) -> tuple[nn.Module, Loss]:
    """Return a model of the same shape, from the package index or in plain PyTorch."""
    if name == "plain_pytorch":
        model: nn.Module = Plain(shape, attention)
        return model, lambda tokens, targets: cross_entropy(model(tokens), targets)
    if name == "x_transformers":
        model = x_transformers(shape, attention)
        return model, lambda tokens, targets: cross_entropy(model(tokens), targets)
    model = transformers(name, shape, attention)
    return model, lambda tokens, targets: cross_entropy(model(tokens).logits, targets)


def x_transformers(shape: Shape, attention: str) -> nn.Module:
    from x_transformers import Decoder, TransformerWrapper

    decoder = Decoder(
        dim=shape.width, depth=shape.depth, heads=shape.heads, attn_dim_head=shape.head,
        rotary_pos_emb=True, attn_flash=attention == "sdpa", use_rmsnorm=True,
    )  # fmt: skip
    model: nn.Module = TransformerWrapper(
        num_tokens=shape.vocab,
        max_seq_len=shape.length,
        attn_layers=decoder,
        use_abs_pos_emb=False,
        tie_embedding=True,
    )
    return model


def transformers(name: str, shape: Shape, attention: str) -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    if name == "transformers_gpt2":
        gpt2 = GPT2Config(
            vocab_size=shape.vocab, n_positions=shape.length, n_embd=shape.width, n_layer=shape.depth,
            n_head=shape.heads, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
            attn_implementation=attention,
        )  # fmt: skip
        return GPT2LMHeadModel(gpt2)
    llama = LlamaConfig(  # three matrices of 8/3 of the width are as many weights as two of 4
        vocab_size=shape.vocab, hidden_size=shape.width, intermediate_size=shape.width * 8 // 3,
        num_hidden_layers=shape.depth, num_attention_heads=shape.heads,
        max_position_embeddings=shape.length, tie_word_embeddings=True, attn_implementation=attention,
    )  # fmt: skip
    return LlamaForCausalLM(llama)


class Plain(nn.Module):
    """A GPT with RoPE as a tutorial writes it, for a compiler to fuse."""

    def __init__(self, shape: Shape, attention: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(shape.vocab, shape.width)
        self.blocks = nn.ModuleList(PlainBlock(shape, attention) for _ in range(shape.depth))
        self.norm, self.head = nn.RMSNorm(shape.width), nn.Linear(shape.width, shape.vocab, bias=False)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.head.weight = self.embed.weight
        rates = 10_000.0 ** -(torch.arange(0, shape.head, 2) / shape.head)
        angle = torch.arange(shape.length)[:, None] * rates
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits: Tensor = self.head(self.norm(x))
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
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if self.attention == "sdpa":
            read = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            read = (q @ k.mT * q.size(-1) ** -0.5 + self.hidden).softmax(-1).to(v.dtype) @ v
        x = x + self.out(read.transpose(1, 2).flatten(2))
        result: Tensor = x + self.down(F.gelu(self.up(self.norm2(x))))
        return result


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).to(x.dtype)


def compile_model(make: Make) -> tuple[nn.Module, Loss]:
    """Return a model through torch.compile: ours block by block, as `trainer.compile` has it."""
    model, loss = make()
    compile_each(model.blocks if isinstance(model, GPT) else [model])
    return model, loss


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
