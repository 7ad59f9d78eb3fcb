"""Recall: every query has one answer, at a distance that follows the power law."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

import data
from data.batch import Batch
from data.source import Problems
from data.tasks.recall import Recall
from tests.data.conftest import check_shares, rows_of
from train.paths import CONF


@pytest.fixture
def recall(settings: Callable[..., dict], cache: Path) -> Callable[..., Recall]:
    def load(vocab: int = 8192, **changes: Any) -> Recall:
        return data.load(settings("recall", **changes), vocab, cache)

    return load


def check_pairs(found: Batch | Problems, symbols: int) -> list[int]:
    """Check every sequence from its tokens alone; return how many pairs each has."""
    counts = []
    for tokens, targets, asked in rows_of(found):
        pairs = sum(asked)
        known = dict(zip(tokens[0 : 2 * pairs : 2], tokens[1 : 2 * pairs : 2], strict=True))
        assert len(known) == len(set(known.values())) == pairs
        assert all(1 <= key < symbols // 2 for key in known)
        assert all(symbols // 2 <= value < symbols for value in known.values())
        places = [place for place, is_asked in enumerate(asked) if is_asked]
        assert sorted(tokens[place] for place in places) == sorted(known)  # each key once
        assert all(place >= 2 * pairs and place % 2 == 0 for place in places)
        assert all(targets[place] == known[tokens[place]] for place in places)
        later = [token for place, token in enumerate(tokens) if place >= 2 * pairs and place not in places]
        assert not set(later) & set(known)  # nothing else could be meant
        rest = [place for place in range(len(tokens) - 1) if place not in places]
        assert all(targets[place] == tokens[place + 1] for place in rest)
        counts.append(pairs)
    return counts


@pytest.mark.parametrize("symbols", [64, 8192])
def test_every_question_has_its_answer(symbols: int, recall: Callable[..., Recall]) -> None:
    task = recall(symbols=symbols)
    counts = check_pairs(task.batch(0, 64, 100, seed=0), symbols)
    assert set(counts) == set(range(1, 9))
    for length in (32, 64, 256):
        problems = task.problems(20, length)
        assert problems.tokens.shape == problems.targets.shape == problems.mask.shape == (20, length)
        assert set(check_pairs(problems, symbols)) == {8}


def test_held_out_sequences_may_be_filled_with_pairs(recall: Callable[..., Recall]) -> None:
    filled, source = recall(symbols=8192, fill=True), recall(symbols=8192)
    for length in (64, 256):
        assert set(check_pairs(filled.problems(10, length), 8192)) == {length // 4}
    assert torch.equal(filled.batch(3, 64, 8, 0).tokens, source.batch(3, 64, 8, 0).tokens)
    assert filled.fingerprint == source.fingerprint


def test_blanks_instead_of_random_tokens(recall: Callable[..., Recall]) -> None:
    problems = recall(random_non_queries=False).problems(10, 64)
    check_pairs(problems, 64)
    assert (problems.tokens == 0).sum(1).tolist() == [64 - 16 - 8] * 10


@pytest.mark.parametrize("power", [0.01, 1])
def test_distances_follow_the_power_law(power: float, recall: Callable[..., Recall]) -> None:
    """The expected distances are drawn one after the other, without replacement."""
    task, draw = recall(power_a=power), np.random.default_rng(5)
    odds = np.arange(1, 25) ** (power - 1.0)
    found = np.bincount(np.concatenate([task.gaps(24, 4, draw) for _ in range(4000)]), minlength=24) / 4000
    drawn = [draw.choice(24, 4, replace=False, p=odds / odds.sum()) for _ in range(4000)]
    expected = np.bincount(np.concatenate(drawn), minlength=24) / 4000
    error = np.sqrt(2 * expected * (1 - expected) / 4000)
    assert (np.abs(found - expected) < 4.5 * error + 1e-9).all()
    assert (found[0] > 3 * found[-1]) == (power < 1)


def test_processes_share_the_sequences_of_one(recall: Callable[..., Recall]) -> None:
    check_shares(recall(), 64)


def test_training_and_held_out_sequences_differ(recall: Callable[..., Recall]) -> None:
    task = recall()
    held_out = {tuple(row) for row in task.problems(50, 64).tokens[:, :8].tolist()}
    for seed in range(3):
        trained = {tuple(row) for row in task.batch(0, 64, 50, seed).tokens[:, :8].tolist()}
        assert len(trained) == 50
        assert not held_out & trained
    assert torch.equal(task.problems(5, 64).tokens, task.problems(50, 64).tokens[:5])


def test_the_file_says_the_sizes_that_it_needs(recall: Callable[..., Recall]) -> None:
    chosen: Any = OmegaConf.load(CONF / "data/recall.yaml")
    task = recall(chosen.model.vocab)
    assert task.vocab == chosen.model.vocab
    assert (task.trained_length, task.has_text) == (None, False)
    assert task.windows(4, 64) is None
    assert task.description == "recall: 1 to 8 pairs of 64 keys and values"
    assert task.fingerprint == recall().fingerprint != recall(power_a=1.0).fingerprint
    assert chosen.evaluation.lengths[0] == chosen.model.length


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"pairs": [8, 4]}, r"data=recall needs pairs to be the fewest and the most .* not \[8, 4\]"),
        ({"pairs": [0, 4]}, r"not \[0, 4\]"),
        ({"pairs": [4, 32]}, r"below half of symbols=64, .* not \[4, 32\]"),
        ({"vocab": 60}, "=60 is too small for data=recall, which has 64 ids: set model.vocab=64"),
    ],
)
def test_impossible_settings_are_refused(
    changes: dict[str, Any], sentence: str, recall: Callable[..., Recall]
) -> None:
    with pytest.raises(ValueError, match=sentence):
        recall(**changes)


@pytest.mark.parametrize("length", [30, 28, 65])
def test_a_length_without_room_is_reported(length: int, recall: Callable[..., Recall]) -> None:
    sentence = rf"no sequence of {length} tokens: with 8 pairs it needs at least 32, an even number"
    with pytest.raises(ValueError, match=sentence):
        recall().problems(4, length)
    with pytest.raises(ValueError, match=sentence):
        recall().batch(0, length, 4, seed=0)
