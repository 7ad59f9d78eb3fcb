"""Operations written out for speed are the plain ones, forward and backward."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.kernels.heads import split
from models.kernels.norm import normalised
from models.kernels.polar import polar
from models.kernels.potential import parts
from models.kernels.turn import turn
from models.kernels.weighted import Weighted
from train.loss import MeanCrossEntropy

B, H, T, D = 2, 3, 7, 8


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape))).requires_grad_()


def plain_turn(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    at = range(0, D, 2) if layout == "interleaved" else range(D // 2)
    other = 1 if layout == "interleaved" else D // 2
    columns = dict.fromkeys(range(D), x[..., 0])
    for pair, f in enumerate(at):
        a, b, c, s = x[..., f], x[..., f + other], cos[:, pair], sin[:, pair]
        columns |= {f: a * c - b * s, f + other: b * c + a * s}
    return torch.stack(list(columns.values()), dim=-1)


def plain_polar(x: Tensor, angle: Tensor) -> Tensor:
    length = (1 + x.exp()).log()
    return torch.stack([length * angle.cos(), length * angle.sin()], dim=-1).flatten(-2)


def plain_split(qkv: Tensor) -> Tensor:
    return torch.cat([x.unflatten(-1, (H, D)).transpose(1, 2) for x in qkv.chunk(3, dim=-1)])


def plain_weighted(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    ahead = torch.ones(T, T, dtype=torch.bool).triu(1)
    return (q @ k.mT + mask).masked_fill(ahead, float("-inf")).softmax(-1) @ v


def weighted(rows: int) -> Callable[..., Tensor]:
    def run(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        mask = mask.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float("-inf"))
        stops = [(i, min(i + rows, T)) for i in range(0, T, rows)]
        out: Tensor = Weighted.apply(q, k, v, mask, [(slice(i, e), slice(0, e)) for i, e in stops])
        return out

    return run


def plain_loss(hidden: Tensor, weight: Tensor) -> Tensor:
    return F.cross_entropy(hidden @ weight.T, torch.arange(hidden.size(0)))


def loss(hidden: Tensor, weight: Tensor) -> Tensor:
    result: Tensor = MeanCrossEntropy.apply(hidden, weight, torch.arange(hidden.size(0)))
    return result


TURNED = [(B, H, T, D), (T, D // 2), (T, D // 2)]
PAIRS = {
    "normalised": (normalised, lambda x: F.rms_norm(x, (D,), eps=1e-6), [(B, T, D)]),
    "split": (lambda x: torch.cat(split(x, H)), plain_split, [(B, T, 3 * H * D)]),
    "turn halves": (partial(turn, layout="half"), partial(plain_turn, layout="half"), TURNED),
    "turn neighbours": (
        partial(turn, layout="interleaved"),
        partial(plain_turn, layout="interleaved"),
        TURNED,
    ),
    "polar": (polar, plain_polar, [(B, H, T, D), (T, D)]),
    "polar of each head": (polar, plain_polar, [(B, H, T, D), (H, T, D)]),
    "weighted": (weighted(T), plain_weighted, [(B, H, T, D)] * 3 + [(1, T, T)]),
    "weighted in blocks": (weighted(3), plain_weighted, [(B, H, T, D)] * 3 + [(B, H, T, T)]),
    "loss": (loss, plain_loss, [(5, D), (9, D)]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_same_values_and_gradients(name: str) -> None:
    fast, plain, shapes = PAIRS[name]
    given = [random(*shape) for shape in shapes]
    found, expected = fast(*given), plain(*given)
    torch.testing.assert_close(found, expected)
    weight = torch.linspace(-1, 1, found.numel()).view(found.shape).cos()
    for a, b in zip(
        *(torch.autograd.grad((y * weight).sum(), given) for y in (found, expected)), strict=True
    ):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_turning_fixed_angles_back_is_its_gradient(layout: str) -> None:
    x, angle = random(B, H, T, D), torch.linspace(0, 9, T * D // 2).view(T, D // 2)
    given = x.detach().clone()
    turned = turn(x, angle.cos(), angle.sin(), layout)
    g = random(B, H, T, D).detach()
    (found,) = torch.autograd.grad(turned, x, g)
    torch.testing.assert_close(found, plain_turn(g, angle.cos(), -angle.sin(), layout))
    torch.testing.assert_close(turned, plain_turn(x, angle.cos(), angle.sin(), layout))
    assert torch.equal(x, given)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_parts_of_a_potential_add_up(dtype: torch.dtype) -> None:
    height = -torch.logspace(-3, 4, 50)
    assert torch.allclose(parts(height, dtype).double().sum(-1), height.double(), rtol=1e-6, atol=1e-6)


def test_normalised_in_bfloat16() -> None:
    """Under autocast the result is rounded once, from float32."""
    x = random(B, T, D)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = normalised(x)
    assert y.dtype == torch.bfloat16
    assert torch.equal(y, F.rms_norm(x, (D,), eps=1e-6).bfloat16())


def test_loss_in_bfloat16() -> None:
    hidden, weight = random(64, 32), random(64, 32, 1).squeeze(-1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = loss(hidden, weight)
    assert abs(found / plain_loss(hidden.detach(), weight) - 1) < 3e-3
    g, w = torch.autograd.grad(found, hidden)[0], torch.autograd.grad(plain_loss(hidden, weight), hidden)[0]
    assert (g - w).norm() < 0.02 * w.norm()
