"""Tensors that lie in memory as few do are read as what they are."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention import attend
from models.effect import Effect, Positions
from models.ops.norm import rms_norm
from models.ops.rotary import rotate_pairs
from tests.tolerance import agree

ANGLES = torch.linspace(0, 3, 40 * 8).reshape(40, 8)
learning = pytest.mark.parametrize("learning", [True, False], ids=["gradient", "no gradient"])


def random(shape: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def qkv(tokens: int = 40) -> list[Tensor]:
    return [random((2, 3, tokens, 16), seed=seed) for seed in range(3)]


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
    """As PyTorch does to imaginary parts of conjugates, and to gradients of them."""
    function, x, later = FUNCTIONS[name], random((2, 3, 40, 16), seed=5), torch._neg_view
    with torch.set_grad_enabled(learning):
        agree(function(later(x)), function(-x))
    if learning:
        y = function(x.requires_grad_())
        g = random(y.shape, seed=7)
        agree(*(torch.autograd.grad(y, x, own, retain_graph=True)[0] for own in (later(g), -g)))


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
