"""FIRE is a function of the distance as long as all queries have one divisor."""

import torch
from torch import Tensor

from models.attention.plan import Plan
from models.distance import ByDistance
from models.effect import Effect, Positions
from models.encodings.fire import FIRE
from tests.conftest import perturb
from tests.tolerance import agree, float64

L = 32


def numbers_and_gradients(fire: FIRE, effect: Effect) -> list[Tensor]:
    """Return the bias of the first L tokens, and the gradient of each parameter."""
    at = torch.arange(L)
    bias = effect.bias(at[:, None], at[None])
    weight = torch.linspace(-9, 9, bias.numel()).sin().view_as(bias)
    return [bias, *torch.autograd.grad((bias * weight).sum(), list(fire.parameters()))]


def test_distances_decide_up_to_the_threshold() -> None:
    fire: FIRE = perturb(FIRE(heads=3, length=L)).double()
    fire.threshold.data.fill_((L - 0.5) / L)
    with float64():
        short, long = (fire.effect_at(Positions.of(length)) for length in (L, L + 1))
        assert isinstance(short.bias, ByDistance)
        assert not isinstance(long.bias, ByDistance)
        for found, expected in zip(
            numbers_and_gradients(fire, short), numbers_and_gradients(fire, long), strict=True
        ):
            agree(found, expected)


def test_training_needs_no_number_for_each_pair() -> None:
    fire = FIRE(heads=3, length=L)
    assert Plan(fire.effect_at(Positions.of(L))).is_toeplitz
    assert not Plan(fire.effect_at(Positions.of(L))).has_dense_numbers
    half = Positions(torch.arange(L) + 0.5, L)
    assert isinstance(fire.effect_at(half).bias, ByDistance)
