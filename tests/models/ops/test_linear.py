"""Linear layers by oneDNN equal those of PyTorch, forward and backward."""

import pytest
import torch
from torch.nn import functional as F

from models.ops import linear
from models.ops.linear import Linear, OneDNN, is_by_onednn, product
from tests.tolerance import agree, float64

HAS = torch.backends.mkldnn.is_available()
onednn = pytest.mark.skipif(not HAS, reason="PyTorch was built without oneDNN")


@onednn
@pytest.mark.parametrize("shape", [(2, 3, 8), (5, 8), (1, 1, 8)])
def test_both_ways_agree(shape: tuple[int, ...]) -> None:
    draw = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(*sizes, generator=draw) for sizes in (shape, (6, 8)))
    out = torch.randn(*shape[:-1], 6, generator=draw)
    found = []
    for multiply in (OneDNN.apply, F.linear):
        leaves = [t.clone().requires_grad_() for t in (x, weight)]
        result = multiply(*leaves)
        found.append([result.detach(), *torch.autograd.grad(result, leaves, out)])
    for actual, expected in zip(*found, strict=True):
        agree(actual, expected)


@onednn
def test_transposed_factors() -> None:
    a, b = torch.randn(40, 30), torch.randn(20, 40)
    for left, right in ((a, a.T), (a.T, b.T), (b, a)):
        agree(linear.onednn(left, right.T), left @ right)
    wide = torch.randn(40, 50)
    for left, right in ((a, wide), (wide, a)):
        agree(linear.over_rows(left, right), left.T @ right)


@pytest.mark.parametrize("slow", [False, True])
def test_where_it_is_not_faster_it_is_not_used(slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = Linear(8, 6), torch.randn(3, 8)
    monkeypatch.setattr(linear, "is_mkl_slow", lambda: slow)
    assert is_by_onednn(x, layer.weight) == slow
    if HAS or not slow:
        assert (layer(x).grad_fn.name() == "OneDNNBackward") == slow
        agree(product(x, layer.weight.T), x @ layer.weight.T)
    assert not is_by_onednn(x.bfloat16(), layer.weight.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16


def test_float64_is_not_for_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "is_mkl_slow", lambda: True)
    with float64():  # as the formulas of papers are tested
        x, layer = torch.randn(3, 8), Linear(8, 6)
        assert not is_by_onednn(x, layer.weight)
        agree(layer(x), x @ layer.weight.T)


@onednn
def test_a_frozen_weight_has_no_gradient() -> None:
    x, weight = torch.randn(5, 8, requires_grad=True), torch.randn(3, 8)
    OneDNN.apply(x, weight).sum().backward()
    assert torch.allclose(x.grad, weight.sum(0).expand(5, -1))
    assert weight.grad is None
