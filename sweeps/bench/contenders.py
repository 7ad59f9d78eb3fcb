"""The models of the benchmarks: ours, and others of the same shape with each of their kinds of attention."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encodings import layers
from models.gpt import GPT
from models.registry import read
from train.fit.loss import mean_loss

ATTENTION = ("eager", "sdpa")
VOCAB, WIDTH, DEPTH, HEADS, LENGTH = 4096, 128, 4, 4, 128
HEAD_WIDTH = WIDTH // HEADS


def ours(name: str) -> GPT:
    shape = {"heads": HEADS, "head_width": HEAD_WIDTH, "width": WIDTH, "depth": DEPTH, "length": LENGTH}
    return GPT(VOCAB, WIDTH, DEPTH, HEADS, layers(read("encoding", name), DEPTH, shape))


def loss_of(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """Return the mean loss of our model, of one of transformers, or of another that returns logits."""
    if isinstance(model, GPT):
        return mean_loss(model.hidden(tokens), model.head.weight, targets)
    output = model(tokens)
    logits = output if isinstance(output, Tensor) else output.logits  # (B, T, V)
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def transformers(name: str, attention: str) -> nn.Module:
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        name, vocab_size=VOCAB, hidden_size=WIDTH, num_hidden_layers=DEPTH, num_attention_heads=HEADS,
        max_position_embeddings=LENGTH, tie_word_embeddings=True, attn_implementation=attention,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    if name == "llama":  # its three matrices of 8/3 of the width are as many weights as two of 4
        config.intermediate_size = WIDTH * 8 // 3
    model: nn.Module = AutoModelForCausalLM.from_config(config)
    return model


def x_transformers(attention: str) -> nn.Module:
    from x_transformers import Decoder, TransformerWrapper

    decoder = Decoder(
        dim=WIDTH, depth=DEPTH, heads=HEADS, attn_dim_head=HEAD_WIDTH,
        rotary_pos_emb=True, attn_flash=attention == "sdpa", use_rmsnorm=True,
    )  # fmt: skip
    look = {"use_abs_pos_emb": False, "tie_embedding": True}
    model: nn.Module = TransformerWrapper(num_tokens=VOCAB, max_seq_len=LENGTH, attn_layers=decoder, **look)
    return model


class Plain(nn.Module):
    """A GPT with RoPE, written as in tutorials, for a compiler to fuse."""

    def __init__(self, attention: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(PlainBlock(attention) for _ in range(DEPTH))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.head.weight = self.embed.weight
        rates = 10_000.0 ** -(torch.arange(0, HEAD_WIDTH, 2) / HEAD_WIDTH)
        angle = torch.arange(LENGTH)[:, None] * rates  # (T, D/2)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)  # (B, T, C)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits: Tensor = self.head(self.norm(x))  # (B, T, V)
        return logits


class PlainBlock(nn.Module):
    def __init__(self, attention: str) -> None:
        super().__init__()
        self.attention, width = attention, WIDTH
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
        hidden = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
        self.register_buffer("hidden", hidden)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, HEAD_WIDTH)).permute(2, 0, 3, 1, 4)
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


PEERS: dict[str, Callable[[str], nn.Module]] = {
    "transformers_gpt2": partial(transformers, "gpt2"),
    "transformers_llama": partial(transformers, "llama"),
    "x_transformers": x_transformers,
    "plain_pytorch": Plain,
}
