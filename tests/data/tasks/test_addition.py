"""Addition in the formats of papers, with positions from the data."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from data.batch import Batch
from data.tasks.addition import Addition
from data.tasks.base import Task
from tests.data.conftest import check_shares

Make = Callable[..., Task]


def place_value(hinted: str) -> dict[str, str]:
    """Return hint -> digit of a number."""
    return dict(zip(hinted[::2], hinted[1::2], strict=True))


@pytest.mark.parametrize("reverse", ["none", "answer", "all"])
def test_numbers_are_written_from_the_end_that_is_asked(reverse: str, task: Make) -> None:
    source = task("addition", reverse=reverse)
    for tokens in source.problems(40, 6).tokens.tolist():
        question, _, answer = "".join((".", "|", *source.alphabet)[id] for id in tokens).partition("|")
        a, b = (int(n[::-1] if reverse == "all" else n) for n in question.split("+"))
        total = answer.rstrip(".")
        assert a + b == int(total[::-1] if reverse != "none" else total)


@pytest.mark.parametrize("reverse", ["none", "answer", "all"])
def test_a_hint_names_the_place_of_a_digit(reverse: str, task: Make) -> None:
    source = task("addition", reverse=reverse, hints=30, lengths=[1, 20])
    seen = set()
    for seed in range(60):
        question, answer = source.problem(5, np.random.default_rng(seed))
        a, b = question.split("+")
        numbers = []
        lowest = answer[0] if reverse != "none" else answer[-2]
        order = source.alphabet[11:]
        start = order.index(lowest)
        seen.add(start)
        for number in (a, b, answer):
            digits = place_value(number)
            numbers.append(sum(int(d) * 10 ** (order.index(hint) - start) for hint, d in digits.items()))
        assert numbers[0] + numbers[1] == numbers[2]
    assert len(seen) > 15


@pytest.mark.parametrize(
    ("format", "question", "answer", "expected"),
    [
        ({"reverse": "all", "positions": "abacus"}, "356+94", "207", [1, 2, 3, 0, 1, 2, 0, 1, 2, 3]),
        ({"reverse": "answer", "positions": "coupling"}, "653+49", "207", [4, 3, 2, 1, 3, 2, 1, 2, 3, 4]),
        ({"reverse": "all", "positions": "coupling"}, "356+94", "207", [2, 3, 4, 1, 2, 3, 1, 2, 3, 4]),
        ({"positions": "coupling"}, "653+49", "702", [4, 3, 2, 1, 3, 2, 5, 4, 3, 2]),
    ],
)
def test_positions_by_hand(format: dict, question: str, answer: str, expected: list[int]) -> None:
    """The examples are those of the papers: 653 + 49 = 702, in three ways of writing."""
    source = Addition(name="addition", lengths=[1, 20], end=True, **format)
    problems = [(question, answer), ("1+2", "3")]
    batch = Batch(*source.encode(problems, 11))
    rows = source.positions_of(batch, torch.tensor([[7], [0]]))
    assert rows is not None
    assert rows[0].tolist() == [at and at + 7 for at in [*expected, 0]]
    assert rows[1, 5:].tolist() == [0] * 6
    alone = Batch(*source.encode(problems[:1], 10))
    assert source.positions_of(alone, torch.zeros(1, 1).long()).tolist() == [expected]


@pytest.mark.parametrize(("positions", "distinct"), [("abacus", 1), ("coupling", 2)])
def test_training_shifts_positions_and_tests_do_not(positions: str, distinct: int, task: Make) -> None:
    source = task("addition", reverse="all", positions=positions, shift=50)
    assert source.problems(8, 20).positions.max() <= 22
    shifts = set()
    for step in range(8):
        batch = source.batch(step, 63, 8, seed=0)
        assert batch.positions.shape == batch.tokens.shape
        first = batch.positions[:, 0] - (1 if positions == "abacus" else 2)
        assert (len(first.unique()) == 1) == (distinct == 1)
        shifts |= set(first.tolist())
    assert len(shifts) > 5
    assert max(shifts) <= 50
    plain = task("addition", reverse="all").batch(3, 63, 8, seed=0)
    assert plain.positions is None
    assert torch.equal(plain.tokens, source.batch(3, 63, 8, seed=0).tokens)


def test_processes_share_the_positions_of_one(task: Make) -> None:
    check_shares(task("addition", reverse="answer", positions="coupling", shift=50), 63)
