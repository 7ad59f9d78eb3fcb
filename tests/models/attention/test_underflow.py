"""Heads see no further than a bias lets them, and nothing that softmax would count is left out."""

import pytest
import torch
from torch import Tensor

from models import cpu as native
from models.attention import attend, reference, underflow
from models.attention.plan import Plan
from models.effect import Curve, Effect, Positions, Window
from tests.tolerance import agree, as_accurate, float64

T, H, D = 2048, 4, 8
SLOPES = torch.tensor([1.0, 0.25, 2**-6, 0.0])


def lines(slopes: Tensor = SLOPES) -> Effect:
    at = Positions.of(T)
    return Effect(at, bias=Curve(lambda distance: -slopes[:, None] * distance))


def content(scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, H, T, D, generator=draw) for _ in range(3))
    return q * scale, k, v


def furthest(q: Tensor, k: Tensor, head: int) -> float:
    """The distance past which a line of this slope leaves nothing, pair by pair."""
    products = (q[:, head].double() @ k[:, head].double().mT) * D**-0.5
    own = products.diagonal(dim1=1, dim2=2)[..., None]
    return float((products - own).max() + underflow.UNDERFLOW) / float(SLOPES[head])


def test_heads_by_reach() -> None:
    q, k, _ = content()
    found = underflow.groups(Plan(lines()), q, k, D**-0.5)
    assert found == {256: [0], 512: [1], None: [2, 3]}
    assert 100 < furthest(q, k, 0) < 256 < furthest(q, k, 1) < 512


def test_large_products_reach_further() -> None:
    for scale in (1.0, 3.0, 10.0):
        q, k, _ = content(scale)
        for width, heads in underflow.groups(Plan(lines()), q, k, D**-0.5).items():
            assert width is None or all(furthest(q, k, head) < width for head in heads)
    assert underflow.groups(Plan(lines()), 1e4 * q, k, D**-0.5) == {None: [0, 1, 2, 3]}


@pytest.mark.parametrize("kernel", ["sdpa", "explicit"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 2.0])
def test_the_same_as_with_every_key(scale: float, kernel: str) -> None:
    q, k, v = (t.double() for t in content(scale))
    k[:, :, 3] = 4 * q[:, :, -1]  # far away, and as much alike as can be
    v[:, :, 3] = 1e4
    with torch.no_grad(), float64():
        assert len(underflow.groups(Plan(lines()), q, k, D**-0.5)) > 1
        whole = reference(q, k, v, lines())
        agree(attend(q, k, v, lines(), kernel=kernel), whole)
        agree(attend(q, k, v, Plan(lines()).since(T - 9), kernel=kernel), whole[:, :, T - 9 :])


@pytest.mark.skipif(native.missing(), reason="There is no C compiler here")
def test_the_same_by_loops_in_c() -> None:
    q, k, v = content(1.0)
    with torch.no_grad():
        found, plain = (attend(q, k, v, lines(), kernel=kernel) for kernel in ("fused", "reference"))
        with float64():
            exact = reference(q.double(), k.double(), v.double(), lines())
    as_accurate({"out": found}, {"out": plain}, {"out": exact})


def test_a_bias_that_rises_again_is_seen() -> None:
    at = Positions.of(T)
    values = -SLOPES[:, None] * at.at
    values[0, 1500:] = 0.0
    q, k, _ = content()
    assert underflow.groups(Plan(Effect(at, bias=Curve(lambda d: values[:, d]))), q, k, D**-0.5) == {
        512: [1],
        None: [0, 2, 3],
    }


def test_where_it_does_not_apply() -> None:
    q, k, _ = content()
    every = {None: [0, 1, 2, 3]}
    at = Positions.of(T)
    others = [
        Effect(at),
        Effect(at, bias=lines().bias, visible=Window(600)),
        Effect(at, bias=lines().bias, temperature=torch.ones(1, T)),
        Effect(Positions(2 * torch.arange(T), 2 * T), bias=lines().bias),
    ]
    for effect in others:
        assert underflow.groups(Plan(effect), q, k, D**-0.5) == every
    assert underflow.groups(Plan(lines()), q[:, :, :1024], k[:, :, :1024], D**-0.5) == every
