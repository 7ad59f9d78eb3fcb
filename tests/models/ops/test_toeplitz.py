"""A value for each diagonal is the value of each pair."""

import pytest
import torch
from torch import Tensor

from models.ops.toeplitz import by_distance, consecutive


def curve(distance: Tensor) -> Tensor:
    return torch.stack([distance * 3, distance**2])


@pytest.mark.parametrize(
    ("i", "j"),
    [
        (torch.arange(5, 9), torch.arange(3, 10)),
        (torch.arange(7, 8), torch.arange(8)),
        (torch.arange(6), torch.arange(0, 1)),
        (torch.tensor([1, 2, 4]), torch.arange(5)),
        (torch.tensor([0, 0, 2]), torch.tensor([0, 2, 2, 3])),  # as far apart as if they were consecutive
        (torch.arange(5, -1, -1), torch.zeros(1, dtype=torch.long)),
        (torch.tensor([0.5, 1.5]), torch.arange(3)),
    ],
)
def test_every_pair(i: Tensor, j: Tensor) -> None:
    expected = curve((i[:, None] - j).flatten()).view(2, len(i), len(j))
    for leading in ((), (1,), (1, 1)):
        i_, j_ = i.view(*leading, -1, 1), j.view(*leading, 1, -1)
        for grad in (True, False):
            with torch.set_grad_enabled(grad):
                assert torch.equal(by_distance(curve, i_, j_), expected.view(2, *leading, len(i), len(j)))


@pytest.mark.parametrize("rows", [[[0, 1], [0, 3]], [[0, 1], [2, 3]], [[0, 1, 2], [3, 4, 6]]])
def test_sequences_that_differ(rows: list[list[int]]) -> None:
    i, size = torch.tensor(rows), len(rows[0])
    expected = torch.stack([curve((at[:, None] - at).flatten()).view(2, size, size) for at in i], dim=1)
    with torch.no_grad():
        assert not consecutive(i[..., None])
        assert torch.equal(by_distance(curve, i[..., None], i[:, None]), expected)
