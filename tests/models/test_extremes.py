"""NaN, the largest floats and unusual memory layouts are read correctly."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import cpu as native
from models.attention import attend
from models.distance import ByDistance, Window
from models.effect import Effect, Positions
from models.ops.norm import rms_norm
from models.ops.pairwise_mlp import adapt_logits
from models.ops.rotary import rotate_pairs
from tests.tolerance import agree

NEAR = ByDistance(lambda distance: 1 / (1 + distance.abs().float())[None])
LARGEST = torch.finfo(torch.float32).max
needs_compiler = pytest.mark.skipif(
    native.lacks_compiler(), reason="PyTorch's attention reads other numbers there"
)
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
    """This holds for all bit patterns: rounding to bfloat16 drops or flips the bits of some."""
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
    found = adapt_logits(nn.Linear(6, 5), nn.Linear(5, 3), random((1, 3, 50), seed=1).bfloat16(), bias)
    assert found.isnan().all(1).nonzero().tolist() == [[0, 7]]


ANGLES = torch.linspace(0, 3, 40 * 8).reshape(40, 8)
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "norm": lambda x: rms_norm(x, torch.ones(16)),
    "rotation": lambda x: rotate_pairs(x, ANGLES.cos(), ANGLES.sin()),
    "queries": lambda x: attend(x, *qkv()[1:], Effect(Positions.of(40))),
    "keys": lambda x: attend(qkv()[0], x, qkv()[2], Effect(Positions.of(40))),
    "values": lambda x: attend(*qkv()[:2], x, Effect(Positions.of(40))),
}


@learning
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_sign_that_is_put_off_is_read(name: str, learning: bool) -> None:
    """PyTorch defers the sign of imaginary parts of conjugates, and of their gradients."""
    function, x, later = FUNCTIONS[name], random((2, 3, 40, 16), seed=5), torch._neg_view
    with torch.set_grad_enabled(learning):
        agree(function(later(x)), function(-x))
    if learning:
        y = function(x.requires_grad_())
        g = random(y.shape, seed=7)
        agree(*(torch.autograd.grad(y, x, gradient, retain_graph=True)[0] for gradient in (later(g), -g)))


@pytest.mark.parametrize("tokens", [8, 40])
@pytest.mark.parametrize("overlapping", range(3), ids=["q", "k", "v"])
def test_gradients_of_tensors_that_overlap_in_memory(overlapping: int, tokens: int) -> None:
    leaves = qkv(tokens)
    leaves[overlapping] = random((2, 3, tokens + 15)).unfold(-1, 16, 1)
    effect, g = Effect(Positions.of(tokens)), random((2, 3, tokens, 16), seed=9)
    for x in leaves:
        x.requires_grad_()
    gradients = (
        torch.autograd.grad(attend(*leaves, effect, kernel=kernel), leaves, g)
        for kernel in ("auto", "reference")
    )
    for found, expected in zip(*gradients, strict=True):
        agree(found, expected)


def test_a_gain_that_is_one_number_for_all() -> None:
    x, gain = random((3, 24)), torch.full((1,), 2.0).expand(24)
    torch.testing.assert_close(rms_norm(x, gain), F.rms_norm(x, (24,), gain, 1e-6))
