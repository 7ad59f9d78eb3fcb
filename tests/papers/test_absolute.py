"""Positions added to the embeddings, or concatenated with them, against the papers."""

import math

import pytest
import torch
from torch import Tensor
from x_transformers.x_transformers import ScaledSinusoidalEmbedding

from models.effect import Positions
from models.encoding import Encoding
from models.encodings import load
from models.gpt import GPT
from tests.conftest import perturb
from tests.papers.loops import random
from tests.tolerance import agree

T, C = 9, 8


def embedded(encoding: Encoding, x: Tensor) -> Tensor:
    embed = encoding.effect_at(Positions.of(x.size(1))).embed
    return embed(x)


def to_one(width: int) -> float:
    """Return the scale at which waves have amplitude 1: embeddings start at 0.02 if the model is 768 wide."""
    return 50 * (width / 768) ** 0.5


def wave(t: int, feature: int, width: int, base: float = 10_000) -> float:
    angle = t / base ** (2 * (feature // 2) / width)
    return math.cos(angle) if feature % 2 else math.sin(angle)


@pytest.mark.parametrize("width", [8, 7, 1])
def test_sinusoidal(width: int) -> None:
    x = random(2, T, width)
    expected = torch.tensor(
        [[wave(t, f, width) for f in range(width)] for t in range(T)], dtype=torch.float64
    )
    agree(embedded(load("sinusoidal", width=width, scale=to_one(width)), x), x + expected)
    agree(embedded(load("sinusoidal", width=width), x), x + expected / to_one(width))


@pytest.mark.parametrize(("feature", "wavelength"), [(0, 6.28), (64, 19.9), (510, 60611)])
def test_sinusoidal_wavelengths(feature: int, wavelength: int) -> None:
    found = embedded(load("sinusoidal", width=512, scale=to_one(512)), torch.zeros(1, 2, 512))[0, 1, feature]
    assert 2 * math.pi / math.asin(found) == pytest.approx(wavelength, rel=2e-3)


def test_sinusoidal_of_x_transformers() -> None:
    """x-transformers puts the sines first and the cosines after them."""
    theirs = ScaledSinusoidalEmbedding(C)(torch.zeros(1, 50, C))
    ours = embedded(load("sinusoidal", width=C, scale=to_one(C) * C**-0.5), torch.zeros(1, 50, C))[0]
    agree(torch.cat([ours[:, 0::2], ours[:, 1::2]], dim=-1), theirs)


def test_sinusoidal_is_as_loud_as_the_embeddings_it_is_added_to() -> None:
    """Their mean square is half of that of the embeddings, as in the paper."""
    model = GPT(500, 64, 1, 2, [load("sinusoidal", width=64)])
    found = embedded(load("sinusoidal", width=64), torch.zeros(1, 300, 64))
    ratio = found.square().mean() / model.embed.weight.square().mean()
    assert ratio.item() == pytest.approx(0.5, abs=0.01)


@pytest.mark.float32
def test_sinusoidal_far_out() -> None:
    """Angles in float32 would be off by 0.003 at this distance."""
    at, encoding = torch.tensor([99_999]), load("sinusoidal", width=2, scale=to_one(2))
    embed = encoding.effect_at(Positions(at, 100_000)).embed
    agree(embed(torch.zeros(1, 1, 2))[0, 0], torch.tensor([math.sin(99_999), math.cos(99_999)]))


def test_integer() -> None:
    x = random(2, T, C)
    agree(embedded(load("integer"), x), x + torch.arange(1, T + 1)[:, None])
    agree(embedded(load("integer", step=0.5, start=0), x), x + 0.5 * torch.arange(T)[:, None])


def test_learned() -> None:
    x = random(2, T, C)
    encoding = perturb(load("learned", width=C, length=T))
    agree(embedded(encoding, x), x + encoding.table)
    agree(embedded(encoding, x[:, :4]), x[:, :4] + encoding.table[:4])


def test_learned_starts_as_gpt_2() -> None:
    encoding = load("learned", width=768, length=512)
    assert encoding.table.shape == (512, 768)
    assert encoding.table.std().item() == pytest.approx(0.02, rel=0.02)


@pytest.mark.parametrize(("part", "waves"), [(0.25, 2), (0.5, 4), (1.0, 8)])
def test_concatenated(part: float, waves: int) -> None:
    """The first features are the token's; the last are sinusoids of their own width."""
    x = random(2, T, C)
    found = embedded(load("concatenated", width=C, part=part, scale=to_one(C)), x)
    place = torch.tensor([[wave(t, f, waves) for f in range(waves)] for t in range(T)], dtype=torch.float64)
    agree(found, torch.cat([x[..., : C - waves].double(), place.expand(2, T, waves)], dim=-1))
