"""Functions with their own gradients refuse second derivatives and tangents."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.autograd.forward_ad as forward
from torch import Tensor

from models.attention import attend
from models.distance import ByDistance
from models.effect import Effect, Positions
from models.ops.norm import rms_norm
from models.ops.rotary import rotate_pairs

ROOT = Path(__file__).resolve().parents[2]
X = torch.linspace(-1, 1, 2 * 2 * 40 * 16).reshape(2, 2, 40, 16)
ANGLES = torch.linspace(0, 3, 40 * 8).reshape(40, 8)


def attention(x: Tensor) -> Tensor:
    return attend(x, x, x, Effect(Positions.of(40)))


def biased(x: Tensor) -> Tensor:
    bias = ByDistance(lambda distance: -distance.float().square()[None] / 9)
    return attend(x, x, x, Effect(Positions.of(40), bias=bias), kernel="explicit")


FUNCTIONS: list[Callable[[Tensor], Tensor]] = [
    attention,
    biased,
    lambda x: rms_norm(x, torch.ones(16)),
    lambda x: rotate_pairs(x, ANGLES.cos(), ANGLES.sin()),
]
over = pytest.mark.parametrize("function", FUNCTIONS, ids=["attend", "bias", "norm", "rotate"])


@over
def test_no_second_derivative_is_given_for_a_wrong_one(function: Callable[[Tensor], Tensor]) -> None:
    """Next to another path to x, such as a residual connection, nothing else would show the loss."""
    x = X.clone().requires_grad_()
    try:
        (first,) = torch.autograd.grad((function(x) + x**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
    except RuntimeError:
        return
    with torch.no_grad():
        step = 1e-2
        rise = [slope(function, X + sign * step * torch.ones_like(X)) for sign in (-1, 1)]
    torch.testing.assert_close(second, (rise[1] - rise[0]) / (2 * step), rtol=0.05, atol=0.05)


@torch.enable_grad()
def slope(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    x = x.clone().requires_grad_()
    return torch.autograd.grad((function(x) + x**3).sum(), x)[0]


@over
def test_no_tangent_is_lost(function: Callable[[Tensor], Tensor]) -> None:
    """Forward-mode derivatives are right or refused."""
    step = 1e-2
    expected = (function(X + step) - function(X - step)) / (2 * step)
    with forward.dual_level():
        try:
            found = forward.unpack_dual(function(forward.make_dual(X, torch.ones_like(X)))).tangent
        except NotImplementedError:
            return
    assert found is not None
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)


def test_every_function_with_a_gradient_of_its_own_says_so() -> None:
    for file in (file for folder in ("models", "train") for file in (ROOT / folder).rglob("*.py")):
        text = file.read_text()
        functions = len(re.findall(r"\(torch\.autograd\.Function\)|\.register_autograd\(", text))
        assert text.count("@first_order\n") == functions, file
