"""Mixtures: each row comes from one part, and means what it means in that part."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

import data
from data.mixture import Mixed
from data.text.tokens import Text
from tests.data.conftest import check_shares
from train.paths import CONF

Make = Callable[..., Mixed]


@pytest.fixture(scope="module")
def mixture(settings: Callable[..., dict], cache: Path) -> Make:
    text = settings("stdlib", limit=0.5, held_out=0.03)

    def load(task: Any = "recall", vocab: int = 512 + 64, **changes: Any) -> Mixed:
        asks = settings(task) if isinstance(task, str) else task
        return data.load(settings("python+recall", **{"text": text, "task": asks} | changes), vocab, cache)

    return load


@pytest.fixture(scope="module")
def hidden(settings: Callable[..., dict], mixture: Make) -> Mixed:
    """Return a mixture of text and of keys hidden in the same text."""
    task = settings("passkey", text=settings("stdlib", limit=0.5, held_out=0.03))
    return mixture(task, 512 + 65, text=None)


def test_rows_are_those_of_the_parts(mixture: Make, stdlib: Text) -> None:
    mixed = mixture()
    assert (mixed.offset, mixed.vocab) == (512, 576)
    for step in range(5):
        batch = mixed.batch(step, 64, 20, seed=1)
        text, task = (part.batch(step, 64, 20, seed=1) for part in (stdlib, mixed.task))
        asks = ~batch.mask.all(1)
        assert asks.sum() == 10
        assert torch.equal(batch.tokens[~asks], text.tokens[~asks])
        assert torch.equal(batch.targets[~asks], text.targets[~asks])
        assert torch.equal(batch.tokens[asks], task.tokens[asks] + 512)
        assert torch.equal(batch.targets[asks], task.targets[asks] + 512)
        assert torch.equal(batch.mask[asks], task.mask[asks])


@pytest.mark.parametrize(("share", "count"), [(0.1, 2), (0.25, 5), (0.9, 18)])
def test_the_share_of_the_task(share: float, count: int, mixture: Make) -> None:
    mixed = mixture(share=share)
    chosen = [~mixed.batch(step, 64, 20, seed=0).mask.all(1) for step in range(20)]
    assert [int(asks.sum()) for asks in chosen] == [count] * 20
    assert 0 < torch.stack(chosen).float().mean(0).std() < 0.3  # drawn anew each time


def test_processes_share_the_sequences_of_one(mixture: Make, hidden: Mixed) -> None:
    for mixed in (mixture(), mixture("copy", 512 + 18), hidden):
        check_shares(mixed, 64)


def test_shorter_problems_are_padded(mixture: Make) -> None:
    mixed = mixture("copy", 512 + 18)
    batch, task = mixed.batch(0, 64, 20, seed=0), mixed.task.batch(0, 64, 20, seed=0)
    asks = ~batch.mask.all(1)
    assert batch.tokens.shape == (20, 64)
    width = task.tokens.size(1)
    assert width < 64
    assert not batch.mask[asks, width:].any()
    assert torch.equal(batch.mask[asks, :width], task.mask[asks])
    assert mixed.trained_length == 20


def test_windows_are_of_the_text_and_problems_of_the_task(mixture: Make, hidden: Mixed, stdlib: Text) -> None:
    mixed = mixture()
    assert torch.equal(mixed.windows(5, 128).tokens, stdlib.windows(5, 128).tokens)
    ours, theirs = mixed.problems(6, 128), mixed.task.problems(6, 128)
    assert torch.equal(ours.tokens, theirs.tokens + 512)
    assert torch.equal(ours.targets, theirs.targets + 512)
    assert torch.equal(ours.mask, theirs.mask)
    assert ours.wrong is None
    ours, theirs = hidden.problems(6, 128), hidden.task.problems(6, 128)
    for name in ("tokens", "targets", "mask", "depth", "wrong"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name))


def test_wrong_answers_are_moved_too(mixture: Make, settings: Callable[..., dict], books: Path) -> None:
    """The keys lie in a text of their own, whose ids differ from those of the other text."""
    key = settings("passkey", text=settings("files", path=str(books), tokenizer="bytes"))
    mixed = mixture(key, 512 + 256 + 65)
    assert mixed.offset == 512
    ours, theirs = mixed.problems(6, 64), mixed.task.problems(6, 64)
    assert torch.equal(ours.wrong, theirs.wrong + 512)


def test_a_key_is_hidden_in_the_text_itself(hidden: Mixed, stdlib: Text) -> None:
    mixed = hidden
    assert (mixed.offset, mixed.vocab) == (0, 512 + 65)
    assert mixed.text is mixed.task.text
    batch = mixed.batch(0, 64, 20, seed=0)
    asks = ~batch.mask.all(1)
    assert torch.equal(batch.tokens[~asks], stdlib.batch(0, 64, 20, seed=0).tokens[~asks])
    assert (batch.tokens[asks] == 512).sum(1).tolist() == [2] * 10


@pytest.mark.parametrize("name", ["python+recall", "python+passkey"])
def test_the_files_are_of_the_parts_that_they_name(name: str, settings: Callable[..., dict]) -> None:
    chosen = settings(name)
    task = name.partition("+")[2]
    sizes: Any = OmegaConf.load(CONF / f"data/{name}.yaml").model
    tiny: Any = OmegaConf.load(CONF / "model/tiny.yaml")
    assert chosen["task"] == settings(task)
    assert chosen["text"] in (None, settings("python"))
    vocabulary = 65 if task == "passkey" else chosen["task"]["symbols"]
    assert sizes.vocab == tiny.vocab + vocabulary  # the same tokenizer as without the task, the same cache


def test_impossible_settings_are_refused(mixture: Make, settings: Callable[..., dict], books: Path) -> None:
    with pytest.raises(ValueError, match=r"leaves 236 ids for data.tokenizer=bpe, which needs 257"):
        mixture(vocab=300, text=settings("files", path=str(books)))
    with pytest.raises(ValueError, match=r"batch=2 has no room for text and a share of 0.1 of problems"):
        mixture(share=0.1).batch(0, 64, 2, seed=0)
    text = settings("stdlib", limit=0.5, held_out=0.03)
    for changes in ({"task": text, "vocab": 1024}, {"text": settings("copy")}, {"text": None}):
        with pytest.raises(ValueError, match=r"needs data.task to be a task and data.text to be text"):
            mixture(**changes)


def test_passes_over_the_text_count_its_own_sequences(mixture: Make, hidden: Mixed, stdlib: Text) -> None:
    assert mixture("copy", 512 + 18).passes(100, 64) == stdlib.passes(50, 64)
    assert stdlib.passes(len(stdlib.training), 2) == 2.0
    keys = hidden.task.passes(50, 64)
    assert hidden.passes(100, 64) == stdlib.passes(50, 64) + keys
    assert 0 < keys < stdlib.passes(50, 64)
    assert mixture("copy", 512 + 18).task.passes(100, 64) is None
