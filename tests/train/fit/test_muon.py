"""Muon against its iteration on singular values in float64, and against PyTorch's in bfloat16."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from train.fit.muon import Muon, iterate_bfloat16, orthogonal

SHAPES = [(8, 24), (24, 8), (8, 8), (16, 16), (1, 5)]


def expected(matrix: Tensor) -> Tensor:
    """Map every singular value s of x / |x| to 3.4445 s - 4.775 s^3 + 2.0315 s^5, five times."""
    u, s, v = torch.linalg.svd(matrix.double(), full_matrices=False)
    s = s / s.norm()
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return u @ s.diag() @ v


def test_singular_values_come_near_one() -> None:
    torch.manual_seed(0)
    matrices = [torch.randn(shape) * scale for shape in SHAPES for scale in (1e-6, 1.0, 1e6)]
    flat = torch.outer(torch.randn(8), torch.randn(8))  # of rank 1
    for matrix in (*matrices, flat):
        torch.testing.assert_close(orthogonal(matrix).double(), expected(matrix), rtol=1e-4, atol=1e-4)
    assert orthogonal(torch.zeros(2, 3)).count_nonzero() == 0


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_are_those_of_pytorch(decay: float) -> None:
    torch.manual_seed(0)
    parameters = nn.ParameterList([nn.Parameter(torch.randn(shape)) for shape in SHAPES[:3]])
    other = deepcopy(parameters)
    ours = Muon(parameters, lr=0.1, weight_decay=decay)
    theirs = torch.optim.Muon(other, lr=0.1, weight_decay=decay, adjust_lr_fn="match_rms_adamw")
    for _ in range(4):
        for a, b in zip(parameters, other, strict=True):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        before = [p.detach().clone() for p in parameters]
        ours.step()
        theirs.step()
        for a, b, then in zip(parameters, other, before, strict=True):
            off, moved = (a - b).detach().norm(), (a - then).detach().norm()
            assert float(off / moved) < 0.05  # the rounding of bfloat16


def test_what_has_no_gradient_stays() -> None:
    p = nn.Parameter(torch.ones(2, 2))
    Muon([p], lr=0.1, weight_decay=0.1).step()
    assert torch.equal(p, torch.ones(2, 2))


@pytest.mark.parametrize("rank", [32, 4])
def test_a_gpu_iterates_in_bfloat16(rank: int) -> None:
    """Nothing grows where most singular values are almost 0, as it would on x x^T."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(32, rank, generator=draw) @ torch.randn(rank, 96, generator=draw)
    found, expected = iterate_bfloat16(x / x.norm()), orthogonal(x)
    leading = torch.linalg.svd(x).U[:, :rank].T
    assert (leading @ (found - expected)).norm() < 0.05 * expected.norm()
    assert torch.linalg.svdvals(found).max() < 1.2
