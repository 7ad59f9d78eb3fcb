"""Multi-head latent attention, token by token in float64, from the paper (DeepSeek-V2, equations 9 to 19)."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from conf.errors import UsageError
from models.attention import logits
from models.block import Block, BlockShape
from models.cache import Cache
from models.effect import Positions
from models.encoding import Encoding, members
from models.encodings import extend, load
from models.gpt import GPT
from models.registry import names
from tests.conftest import perturb
from tests.papers.golden import K, Q, X, close
from tests.tolerance import agree

HEADS, WIDTH, LATENT, ROTARY, LENGTH = 3, 30, 7, 4, 9
HEAD = WIDTH // HEADS
SHAPE = {
    "heads": HEADS,
    "head_width": HEAD,
    "width": WIDTH,
    "depth": 2,
    "length": LENGTH,
    "rotary": ROTARY,
}
VARIANT = {"latent": LATENT, "rotary": ROTARY}


def model(encoding: Encoding, **more: Any) -> GPT:
    return perturb(GPT(13, WIDTH, 2, HEADS, members(encoding), **VARIANT, **more)).double()


def tokens() -> Tensor:
    return torch.randint(13, (2, LENGTH), generator=torch.Generator().manual_seed(0))


def turned(pair: Tensor, position: int, frequency: float) -> Tensor:
    cos, sin = math.cos(position * frequency), math.sin(position * frequency)
    return torch.stack([cos * pair[0] - sin * pair[1], sin * pair[0] + cos * pair[1]])


def rotated(x: Tensor, position: int) -> Tensor:
    """Return the rotary part of a head (R,) at a position, with RoPE's frequencies of width R."""
    pairs = range(0, ROTARY, 2)
    return torch.cat([turned(x[p : p + 2], position, 10_000 ** (-p / ROTARY)) for p in pairs])


def by_loops(block: Block, x: Tensor) -> Tensor:
    """Return the output of attention for the input x (T, C)."""
    weights = {name: weight.double() for name, weight in block.attention.named_parameters()}
    down, up = weights["down.weight"], weights["up.weight"].view(HEADS, -1, LATENT)
    shared, latents = x @ down[:ROTARY].T, x @ down[ROTARY:].T  # one part of k for all heads
    latents = latents / (latents.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weights["norm.weight"]
    rows = []
    for i in range(len(x)):
        outputs = []
        for h in range(HEADS):
            query = (x[i] @ weights["q.weight"].T)[h * HEAD : (h + 1) * HEAD]
            scores, values = [], []
            for j in range(i + 1):
                key_and_value = up[h] @ latents[j]
                key, value = key_and_value[: HEAD - ROTARY], key_and_value[HEAD - ROTARY :]
                position = rotated(query[:ROTARY], i) @ rotated(shared[j], j)
                scores.append((position + query[ROTARY:] @ key) / HEAD**0.5)
                values.append(value)
            outputs.append(torch.stack(scores).softmax(0) @ torch.stack(values))
        rows.append(weights["out.weight"] @ torch.cat(outputs))
    return torch.stack(rows)


def test_equations_of_the_paper() -> None:
    block = model(load("rope", **SHAPE)).blocks[0]
    plan = model(load("rope", **SHAPE)).plans(Positions.of(LENGTH))[0]
    x = torch.randn(LENGTH, WIDTH, generator=torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        agree(block.attention(x[None], plan)[0][0], by_loops(block, x))


def test_published_numbers() -> None:
    """The rotary part is one pair of frequency 1 of a head of six features."""
    content = X[:, None]  # (B, 1, T, 8)
    q, k = (torch.cat(pair, -1) for pair in ((Q[..., :2], content[..., :4]), (K[..., :2], content[..., 4:])))
    encoding = load("rope", head_width=6, rotary=2)
    row = logits(q, k, encoding.effect_at(Positions.of(6)))[0, 0, 5]
    close(row, 0.454077232, 0.942792098, 0.774575479, 0.835719898, 0.467157046, -0.587175092)


WHOLE = {"asentmax", "pope", "rope_bias"}  # which change all features of q and k


@pytest.mark.parametrize("name", [name for name in names() if name != "irope"])
def test_every_encoding_runs_or_is_refused(name: str) -> None:
    """The features beyond the rotary part do not turn, and what is not rotary reads whole heads."""
    gpt = model(load(name, **SHAPE))
    if name in WHOLE:
        with pytest.raises(UsageError, match="choose another encoding, or model"):
            gpt(tokens())
        return
    gpt(tokens()).square().mean().backward()
    assert all(p.grad is not None for p in gpt.parameters() if p.requires_grad)


@pytest.mark.parametrize("extension", ["yarn", "pi", "self_extend", "window"])
def test_extensions_turn_the_same_part(extension: str) -> None:
    encoding = extend(extension, load("rope", **SHAPE))
    assert encoding.effect_at(Positions.of(40)).rotate.width == ROTARY
    agree(model(encoding)(tokens()), model(encoding, kernel="reference")(tokens()))


@pytest.mark.parametrize("name", ["rope", "alibi", "fox", "shaw"])
def test_a_cache_keeps_small_vectors(name: str) -> None:
    gpt, x, cache = model(load(name, **SHAPE)), tokens(), Cache(2)
    with torch.no_grad():
        pieces = [gpt.continue_text(x[:, :end], cache) for end in (4, 5, LENGTH)]
        agree(torch.cat(pieces, dim=1), gpt.hidden(x))
    assert cache.layers[0].tensors[0].shape == (2, LENGTH, ROTARY + LATENT)


def test_weights_are_counted_and_seeded() -> None:
    count = WIDTH * WIDTH + WIDTH * (ROTARY + LATENT) + LATENT + LATENT * (2 * WIDTH - HEADS * ROTARY)
    block = Block(BlockShape(WIDTH, HEADS, **VARIANT), 0)
    assert sum(p.numel() for p in block.attention.parameters()) == count + WIDTH * WIDTH
    first, second = (GPT(13, WIDTH, 2, HEADS, [load("nope")], seed=3, **VARIANT) for _ in range(2))
    assert torch.equal(first(tokens()), second(tokens()))
