"""Passkey: the key stands where it should, and the text around it is unchanged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import data
from data.tasks.passkey import DEPTHS, Haystack
from data.text.tokens import Text
from tests.composing import composed
from tests.data.conftest import check_shares, rows_of

OWN = 65  # a marker and 64 symbols


@pytest.fixture(scope="module")
def passkey(settings: Callable[..., dict], cache: Path) -> Callable[..., Haystack]:
    text = settings("stdlib", limit=0.5, held_out=0.03)

    def load(vocab: int = 512 + OWN, **changes: Any) -> Haystack:
        return data.load(settings("passkey", **{"text": text} | changes), vocab, cache)

    return load


def text_and_key(source: Haystack, found: Any) -> list[tuple[list[int], list[int], int]]:
    """Return text, key and the number of tokens before the key, from the ids alone."""
    rows = []
    size = source.settings.key + 1
    for tokens, target, asked in rows_of(found):
        assert tokens[1:] == target[:-1]
        whole = [*tokens, target[-1]]
        first, last = [place for place, token in enumerate(whole) if token == source.marker]
        key = whole[first + 1 : first + size]
        assert last == len(whole) - size
        assert whole[last + 1 :] == key == [token for token, it in zip(target, asked, strict=True) if it]
        assert len(set(key)) == source.settings.key
        assert all(source.marker < symbol < source.vocab for symbol in key)
        text = whole[:first] + whole[first + size : last]
        assert max(text) < source.marker
        rows.append((text, key, first))
    return rows


def test_a_batch_is_training_text_with_a_key(passkey: Callable[..., Haystack], stdlib: Text) -> None:
    task = passkey()
    assert task.text.fingerprint == stdlib.fingerprint
    batch = task.batch(2, 64, 90, seed=1)
    assert batch.tokens.shape == (90, 64)
    room = 64 + 1 - 2 * 6
    of_text = stdlib.batch(2, room, 90, seed=1).tokens
    found = text_and_key(task, batch)
    assert torch.equal(torch.tensor([text for text, _, _ in found]), of_text)
    starts = [start for _, _, start in found]
    assert min(starts) < 5  # any depth
    assert max(starts) > room - 5
    assert len(set(starts)) > 20
    assert len({tuple(key) for _, key, _ in found}) == 90


def test_problems_differ_in_depth_alone(passkey: Callable[..., Haystack], stdlib: Text) -> None:
    task = passkey()
    problems = task.problems(20, 128)
    assert problems.tokens.shape == (20, 128)
    assert problems.depth.dtype == torch.float32
    assert problems.depth.tolist() == list(DEPTHS) * 4 == [0.0, 0.25, 0.5, 0.75, 1.0] * 4
    room = 128 + 1 - 2 * 6
    held_out = stdlib.windows(4, room)
    windows = held_out.tokens[:, :room].tolist()
    assert problems.document.tolist() == held_out.document.repeat_interleave(5).tolist()
    found = text_and_key(task, problems)
    for number, (text, key, start) in enumerate(found):
        assert text == windows[number // 5]
        assert key == found[number // 5 * 5][1]
        assert start == round(DEPTHS[number % 5] * room)
    assert len({tuple(key) for _, key, _ in found}) == 4
    longer = text_and_key(task, task.problems(20, 256))
    assert [key for _, key, _ in longer] == [key for _, key, _ in found]


def test_the_wrong_key_is_as_likely(passkey: Callable[..., Haystack]) -> None:
    task = passkey()
    problems = task.problems(50, 64)
    assert torch.equal(problems.wrong[~problems.mask], problems.targets[~problems.mask])
    right, wrong = (x[problems.mask].view(50, -1) for x in (problems.targets, problems.wrong))
    for a, b in zip(right.tolist(), wrong.tolist(), strict=True):
        assert len(set(b)) == task.settings.key
        assert not set(a) & set(b)
        assert all(task.marker < symbol < task.vocab for symbol in b)


def test_texts_recur_with_other_keys(passkey: Callable[..., Haystack], stdlib: Text) -> None:
    """The longest document has room only once."""
    length = int(stdlib.lengths.max()) + 10
    first, other = passkey().problems(10, length).tokens[[0, 5]]  # at depth 0 the text follows the key
    assert torch.equal(first[6:-5], other[6:-5])
    assert not torch.equal(first[1:6], other[1:6])


def test_held_out_keys_and_texts_are_not_those_in_training(passkey: Callable[..., Haystack]) -> None:
    task = passkey()
    held_out = {tuple(key) for _, key, _ in text_and_key(task, task.problems(100, 64))}
    for seed in range(3):
        trained = {tuple(key) for _, key, _ in text_and_key(task, task.batch(0, 64, 100, seed))}
        assert not held_out & trained


def test_processes_share_the_sequences_of_one(passkey: Callable[..., Haystack]) -> None:
    check_shares(passkey(), 64)


def test_the_shortest_sequence(passkey: Callable[..., Haystack]) -> None:
    task = passkey()
    assert [len(text) for text, _, _ in text_and_key(task, task.problems(5, 12))] == [1] * 5
    for ask in (lambda: task.problems(5, 11), lambda: task.batch(0, 11, 4, seed=0)):
        with pytest.raises(ValueError, match=r"no sequence of 11 tokens: .* it needs at least 12"):
            ask()


def test_the_file_is_of_the_default_text() -> None:
    config, default = composed("data=passkey"), composed()
    assert config.data["text"] == default.data | {"name": "python"}
    assert config.model.vocab == default.model.vocab + OWN  # the same tokenizer, the same cache
    assert config.evaluation.at(config.model.length)[0] == config.model.length


def hidden_and_asked(source: Haystack, row: list[int], mask: list[bool]) -> tuple[list, list, list]:
    """Return (name, key) of each needle in the text in order, the names asked for, and the scored ids, by
    reading the ids from the left."""
    size, markers = 2 + source.settings.key, [place for place, id in enumerate(row) if id == source.marker]
    count = source.settings.needles
    needles = [(row[place + 1], row[place + 2 : place + size]) for place in markers[:count]]
    names = [row[place + 1] for place in markers[count:]]
    return needles, names, [id for id, it in zip(row[1:], mask, strict=True) if it]


@pytest.mark.parametrize(("needles", "queries", "one_name"), [(4, 1, False), (4, 4, False), (4, 3, True)])
@pytest.mark.parametrize("length", [80, 300])
def test_several_needles(
    needles: int, queries: int, one_name: bool, length: int, passkey: Callable[..., Haystack]
) -> None:
    """The answers are those of a reader who goes through the text from the left."""
    task = passkey(needles=needles, queries=queries, one_name=one_name)
    check_shares(task, length)
    for found in (task.batch(1, length, 40, seed=2), task.problems(40, length)):
        whole = torch.cat([found.tokens, found.targets[:, -1:]], 1).tolist()
        assert found.tokens.shape == (40, length)
        for row, mask in zip(whole, found.mask.tolist(), strict=True):
            hidden, asked, scored = hidden_and_asked(task, row, mask)
            assert len(asked) == len(set(asked)) == (1 if one_name else queries)
            assert scored == [id for name in asked for it, key in hidden if it == name for id in key]
            assert len(scored) == 5 * queries
            assert sum(id > task.marker for id in row) == needles * 6 + len(asked) + len(scored)
    if not one_name:
        check_depths(task, found)
    assert (found.wrong[found.mask] > task.marker).all()
    assert (found.wrong[found.mask] != found.targets[found.mask]).all()


def check_depths(task: Haystack, problems: Any) -> None:
    """Check that the needle that is asked for first stands where the problem says."""
    for (row, _, mask), depth in zip(rows_of(problems), problems.depth, strict=True):
        name = row[mask.index(True)]
        place = next(n for n, id in enumerate(row) if id == task.marker and row[n + 1] == name)
        before, room = (sum(id < task.marker for id in part) for part in (row[:place], row))
        assert before == round(float(depth) * room)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"key": 33}, "data=passkey needs key to be at most 32, half of symbols=64, not 33"),
        ({"queries": 2}, "needs queries=2 to be at most needles=1"),
        ({"needles": 65}, "needles to be at most symbols=64"),
        ({"vocab": 300}, "model.vocab leaves 235 ids for data.tokenizer=bpe, which needs 257"),
    ],
)
def test_impossible_settings_are_refused(
    changes: dict[str, Any],
    sentence: str,
    passkey: Callable[..., Haystack],
    settings: Callable[..., dict],
    books: Path,
) -> None:
    with pytest.raises(ValueError, match=sentence):
        passkey(text=settings("files", path=str(books)), **changes)
