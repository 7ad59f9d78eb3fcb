"""Tasks as sources: ids, lengths, masks, streams of seeds."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from data.tasks.base import END, FIRST, SEPARATOR, Task
from tests.data.conftest import check_shares
from train.paths import CONF

RUOSS = ["even_pairs", "bucket_sort"]
OTHERS = "copy reverse sort parity addition copy_unique counting mode".split()
NAMES = RUOSS + OTHERS


def characters(task: Task, ids: torch.Tensor) -> str:
    """Return ids as characters: | is the separator, . the end."""
    return "".join((".", "|", *task.alphabet)[number] for number in ids.tolist())


def rows(task: Task, found: Any) -> list[tuple[str, str, str]]:
    """Return question, answer and the scored part of each row, from the ids alone."""
    tokens, targets, asked = found.tokens, found.targets, found.mask
    assert tokens.shape == targets.shape == asked.shape
    assert (tokens.dtype, targets.dtype, asked.dtype) == (torch.int64, torch.int64, torch.bool)
    assert torch.equal(tokens[:, 1:], targets[:, :-1])
    found = []
    for row, target, mask in zip(tokens, targets, asked, strict=True):
        question, _, rest = (characters(task, row) + characters(task, target[-1:])).partition("|")
        answer, _, padding = rest.partition(".")
        assert not padding.strip(".")
        found.append((question, answer, characters(task, target[mask])))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_file_says_the_sizes_that_its_task_needs(name: str, task: Callable[..., Task]) -> None:
    chosen = OmegaConf.load(CONF / f"data/{name}.yaml")
    source = task(name, chosen.model.vocab)
    low, high = source.lengths
    assert source.vocab == chosen.model.vocab == FIRST + len(set(source.alphabet))
    assert source.tokens(high) == chosen.model.length
    assert source.trained_length == high == chosen.evaluation.lengths[0]
    expected = (1, 40, 500) if name in RUOSS else (1, 20, 40)
    assert (low, high, chosen.evaluation.lengths[-1]) == expected
    for length in chosen.evaluation.lengths:
        assert source.problems(1, length).tokens.shape == (1, source.tokens(length))


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_what_it_says(name: str, task: Callable[..., Task]) -> None:
    source = task(name)
    high = source.lengths[1]
    every: set[tuple[str, str, str]] = set()
    widths = {source.tokens(length): source.size(length) for length in range(source.lengths[0], high + 1)}
    for step in range(20):
        batch = source.batch(step, source.tokens(high) + 5, 12, seed=1)
        found = rows(source, batch)
        ends = "." if source.end else ""
        assert [asked for _, _, asked in found] == [answer + ends for _, answer, _ in found]
        longest = widths[batch.tokens.size(1)]
        for question, answer, _ in found:
            assert len(question) <= longest[0]
            assert len(answer) <= longest[1]
            assert set(question + answer) <= set(source.alphabet)
        every |= set(found)
    assert len({len(question) + len(answer) for question, answer, _ in every}) > 3  # many lengths
    assert len(every) > 30


@pytest.mark.parametrize("name", NAMES)
def test_held_out_problems_have_the_length_that_is_asked(name: str, task: Callable[..., Task]) -> None:
    source = task(name)
    for length in (1, 7, source.lengths[1]):
        problems = source.problems(12, length)
        assert problems.tokens.shape == (12, source.tokens(length))
        found = rows(source, problems)
        longest = source.size(length)
        assert max(len(answer) for _, answer, _ in found) <= longest[1]
        if name != "addition":  # the shorter number may have any length
            assert {len(question) for question, _, _ in found} == {longest[0]}
        five = source.problems(5, length)
        assert torch.equal(five.tokens, problems.tokens[:5])
        assert torch.equal(five.mask, problems.mask[:5])


def test_a_batch_depends_on_seed_and_step_alone(task: Callable[..., Task]) -> None:
    source = task("copy")
    first = source.batch(7, 41, 8, seed=1)
    source.problems(4, 30)
    source.batch(9, 64, 4, seed=2)
    assert torch.equal(first.tokens, source.batch(7, 64, 8, seed=1).tokens)
    check_shares(source, 41)
    for step, seed in ((8, 1), (7, 2), (1, 7)):
        assert not torch.equal(first.tokens, source.batch(step, 41, 8, seed=seed).tokens)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"counting"}))
def test_held_out_problems_are_not_those_in_training(name: str, task: Callable[..., Task]) -> None:
    """This holds for tasks with too many questions for a coincidence."""
    length = 30
    source = task(name, lengths=[length, length])
    held_out = {question for question, _, _ in rows(source, source.problems(100, length))}
    for seed in range(3):
        trained = [q for step in range(3) for q, _, _ in rows(source, source.batch(step, 500, 32, seed))]
        assert not held_out & set(trained)
    assert len(held_out) > 90


def test_all_lengths_are_equally_likely(task: Callable[..., Task]) -> None:
    """Each step has a single length."""
    source = task("copy", lengths=[3, 7])
    lengths = []
    for step in range(2000):
        questions = {len(question) for question, _, _ in rows(source, source.batch(step, 41, 2, seed=0))}
        lengths += list(questions)
    assert len(lengths) == 2000
    counts = torch.bincount(torch.tensor(lengths))
    assert counts[:3].sum() == 0
    assert len(counts) == 8
    assert (counts[3:] - 400).abs().max() < 4 * (2000 * 0.2 * 0.8) ** 0.5  # four standard deviations


def test_ids_and_mask_by_hand(task: Callable[..., Task]) -> None:
    source = task("reverse", symbols=3, lengths=[2, 4])
    tokens, targets, mask = source.encode([("012", "210"), ("1", "1")], 7)
    assert tokens.tolist() == [[2, 3, 4, SEPARATOR, 4, 3, 2], [3, SEPARATOR, 3, END, END, END, END]]
    assert targets.tolist() == [[3, 4, SEPARATOR, 4, 3, 2, END], [SEPARATOR, 3, END, END, END, END, END]]
    assert mask.int().tolist() == [[0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 0, 0, 0, 0]]
    without = task("reverse", symbols=3, lengths=[2, 4], end=False)
    mask = without.encode([("012", "210"), ("1", "1")], 7)[2]
    assert mask.int().tolist() == [[0, 0, 0, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0, 0]]


def test_description_of_a_task(task: Callable[..., Task]) -> None:
    source = task("copy")
    assert (source.has_text, source.windows(4, 64)) == (False, None)
    assert source.description.startswith("copy: problems of length 1 to 20, such as ")
    assert len(source.fingerprint) == 64
    assert source.fingerprint == task("copy").fingerprint
    marks = {task("copy", **changes).fingerprint for changes in ({}, {"lengths": [1, 19]}, {"same": True})}
    assert len(marks | {task(name).fingerprint for name in NAMES}) == 2 + len(NAMES)


class Doubled(Task):
    """A task with the same words and another function as the answer."""

    alphabet = "01"

    def problem(self, length: int, draw: Any) -> tuple[str, str]:
        return "0" * length, "1"


def test_the_fingerprint_is_of_the_problems_too() -> None:
    first = Doubled(name="one", lengths=[1, 4]).fingerprint
    Doubled.problem = lambda self, length, draw: ("1" * length, "1")
    assert Doubled(name="one", lengths=[1, 4]).fingerprint != first


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("copy", {"lengths": [5, 3]}, r"data.lengths=\[5, 3\] must be the shortest and the longest problem"),
        ("copy", {"lengths": [0, 9]}, "data=copy has no problem of length 0: the shortest has 1"),
        ("copy_unique", {"lengths": [1, 41]}, "has no problem of length 41: the longest has 40"),
        ("addition", {"hints": 20}, "data=addition has no problem of length 20: the longest has 19"),
        ("addition", {"positions": "abacus", "hints": 52}, "data.hints and data.positions say the same"),
        ("copy", {"vocab": 17}, "=17 is too small for data=copy, which has 18 ids: set model.vocab=18"),
    ],
)
def test_impossible_settings_are_refused(
    name: str, changes: dict[str, Any], sentence: str, task: Callable[..., Task]
) -> None:
    with pytest.raises(ValueError, match=sentence):
        task(name, **changes)


def test_a_model_too_short_for_the_problems_is_reported(task: Callable[..., Task]) -> None:
    with pytest.raises(ValueError, match=r"training problems of 41 tokens, more than model.length=40: set"):
        task("copy").batch(0, 40, 4, seed=0)
