"""What is no number, or as large as floats can be, is read as what it is."""

import os
import shutil

import pytest
import torch
from torch import Tensor, nn

from models.attention import attend
from models.effect import ByDistance, Effect, Positions, Window
from models.ops.norm import rms_norm
from models.ops.pairwise_mlp import adapted
from tests.tolerance import agree

COMPILER = shutil.which(os.environ.get("CC", "cc"))
NEAR = ByDistance(lambda distance: 1 / (1 + distance.abs().float())[None])
LARGEST = torch.finfo(torch.float32).max
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="PyTorch's attention reads other numbers there")
learning = pytest.mark.parametrize("learning", [True, False], ids=["gradient", "no gradient"])
no_number = pytest.mark.parametrize("bits", [0x7F800001, 0x7FFFFFFF, 0x7FC0017F, -1, -0x7FFFFF], ids=hex)


def random(shape: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def qkv(tokens: int = 40) -> list[Tensor]:
    return [random((2, 3, tokens, 16), seed=seed) for seed in range(3)]


@needs_compiler
@learning
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "both"])
@pytest.mark.parametrize("factor", [None, NEAR], ids=["product", "factor"])
def test_a_hidden_key_may_be_no_number(factor: ByDistance | None, causal: bool, learning: bool) -> None:
    effect = Effect(Positions.of(40, causal=causal), score_scale=factor, visible=Window(3, sinks=2))
    q, k, v = qkv()
    k[:, :, 30] = torch.nan
    with torch.set_grad_enabled(learning):
        found = attend(q, k, v, effect)
    expected = attend(q, k, v, effect, kernel="reference")
    assert torch.equal(found.isnan(), expected.isnan())
    agree(found.nan_to_num(), expected.nan_to_num())


@needs_compiler
@learning
@pytest.mark.parametrize("tokens", [40, 1100])
@pytest.mark.parametrize("bias", [-LARGEST, LARGEST])
def test_the_largest_bias_is_finite(bias: float, tokens: int, learning: bool) -> None:
    level = ByDistance(lambda distance: torch.where(distance < 9, bias, -LARGEST)[None])
    effect = Effect(Positions.of(tokens), bias=level)
    with torch.set_grad_enabled(learning):
        found = attend(*qkv(tokens), effect)
    agree(found, attend(*qkv(tokens), effect, kernel="reference"))


@no_number
def test_whatever_is_no_number_stays_so(bits: int) -> None:
    """Whichever bits it has: those that rounding to bfloat16 drops, or turns over."""
    x = random((3, 16))
    x.view(torch.int32)[1, 5] = bits
    with torch.autocast("cpu", torch.bfloat16):
        assert rms_norm(x, torch.ones(16)).isnan().all(-1).tolist() == [False, True, False]
    q, k, v = qkv()
    q.view(torch.int32)[:, :, 35, 0] = bits
    for learning in (True, False):
        with torch.set_grad_enabled(learning):
            out = attend(q, k, v, Effect(Positions.of(40)))
        assert out.isnan().all(-1)[0, 0].nonzero().tolist() == [[35]]
    bias = random((1, 3, 50))
    bias.view(torch.int32)[0, :, 7] = bits
    found = adapted(nn.Linear(6, 5), nn.Linear(5, 3), random((1, 3, 50), seed=1).bfloat16(), bias)
    assert found.isnan().all(1).nonzero().tolist() == [[0, 7]]


def test_a_network_reads_of_all_heads_that_one_is_no_number() -> None:
    logits = random((1, 3, 50))
    logits[0, 1, 7] = torch.nan
    found = adapted(nn.Linear(6, 5), nn.Linear(5, 3), logits, random((1, 3, 50), seed=1))
    assert found.isnan().nonzero().tolist() == [[0, head, 7] for head in range(3)]
