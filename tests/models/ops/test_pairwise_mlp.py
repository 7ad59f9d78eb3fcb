"""Networks at every pair of tokens equal their formula, whichever way they are computed."""

import pytest
import torch
from torch import Tensor, nn

from models.attention import attend
from models.distance import ByDistance
from models.effect import Adjust, Effect, Positions
from models.ops.pairwise_mlp import PAIRS, AcrossHeads, adapt_logits
from models.ops.relu_network import relu_network
from tests.tolerance import agree, as_accurate


def layers(inputs: int, hidden: int, out: int) -> tuple[nn.Linear, nn.Linear]:
    torch.manual_seed(0)
    return nn.Linear(inputs, hidden), nn.Linear(hidden, out)


def plain(read: nn.Linear, write: nn.Linear, x: Tensor) -> Tensor:
    """Return the network's output (out, N) for x (N,), unit by unit, in the precision of x."""
    units = read.weight.to(x) * x + read.bias.to(x)[:, None]
    return write.weight.to(x) @ units.relu() + write.bias.to(x)[:, None]


def ways(read: nn.Linear, write: nn.Linear, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the fast, the plain and the exact result."""
    return relu_network(read, write)(x), plain(read, write, x), plain(read, write, x.double())


@pytest.mark.parametrize(
    ("lowest", "highest"), [(-3.0, 3.0), (0.0, 1.0), (0.2, 0.2001), (-1e4, -1e3), (1e3, 1e4), (0.5, 0.5)]
)
@torch.no_grad()
def test_one_number_is_read_by_lines_that_bend(lowest: float, highest: float) -> None:
    read, write = layers(1, 32, 4)
    read.weight[:4], read.bias[:4] = 0.0, torch.tensor([-1.0, 0.0, 1.0, 2.0])  # units that never bend
    read.weight[4:6] = torch.tensor([[1e-30], [-1e-30]])  # and that bend far away
    read.weight[6:8], read.bias[6:8] = torch.tensor([[1.0], [-1.0]]), 0.0  # at 0
    as_accurate(*({"y": y} for y in ways(read, write, torch.linspace(lowest, highest, 101))))


@pytest.mark.parametrize("count", [1, 33, 64, 65, 5000])
@pytest.mark.parametrize(("hidden", "out"), [(8, 2), (32, 5), (3, 12)])
def test_one_number_is_read_with_gradient(count: int, hidden: int, out: int) -> None:
    read, write = layers(1, hidden, out)
    leaves = [torch.linspace(-2, 2, count, requires_grad=True), *read.parameters(), *write.parameters()]
    outcomes = [(y, *torch.autograd.grad(y.square().mean(), leaves)) for y in ways(read, write, leaves[0])]
    for each in zip(*outcomes, strict=True):  # held to its own size
        as_accurate(*({"y": y} for y in each))


def test_what_is_no_number_stays_none() -> None:
    read, write = layers(1, 8, 2)
    x = torch.tensor([0.5, torch.nan, -0.5], requires_grad=True)
    result = relu_network(read, write)(x)
    assert result.isnan().any(0).tolist() == [False, True, False]
    (to_x,) = torch.autograd.grad(result[:, [0, 2]].sum(), x)
    assert to_x[[0, 2]].isfinite().all()


@pytest.mark.parametrize("count", [1, PAIRS - 1, PAIRS, PAIRS + 1, 3 * PAIRS])
def test_logits_are_adapted(count: int) -> None:
    read, write = layers(6, 32, 3)
    logits, bias = torch.randn(2, 3, count), torch.randn(2, 3, count)
    x = torch.cat([logits, bias], dim=1).mT
    expected = logits + bias + write(nn.functional.leaky_relu(read(x))).mT
    agree(adapt_logits(read, write, logits, bias), expected)


def test_heads_may_share_one_curve() -> None:
    positions = Positions.of(12)
    read, write = torch.nn.Linear(2 * 4, 8), torch.nn.Linear(8, 4)
    curve = ByDistance(lambda distance: -distance.float()[None])
    each = ByDistance(lambda distance: -distance.float().expand(4, -1))
    q, k, v = torch.randn(3, 2, 4, 12, 16)
    of_one, of_each = (
        attend(q, k, v, Effect(positions, adjust=Adjust(AcrossHeads(read, write, bias))))
        for bias in (curve, each)
    )
    torch.testing.assert_close(of_one, of_each)
