"""Recall of words: the test reads every sequence again, one token after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from data.tasks.base import Generated
from data.tasks.mqmtar import ASKS, IS, LETTER, SPACE


@pytest.fixture
def mqmtar(task: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **changes: task("mqmtar", 259, **changes)


def read_sequence(whole: list[int], word: int) -> tuple[dict[tuple, tuple], list[tuple], list[tuple]]:
    """Return the pairs, the keys that are asked for, and the words that follow."""
    known, asked, place = {}, [], 0
    while whole[place] != ASKS:
        if whole[place] == SPACE:
            place += 1
            continue
        key, sign, value = whole[place:][:word], whole[place + word], whole[place + word + 1 :][:word]
        assert (sign, whole[place + 2 * word + 1]) == (IS, SPACE)
        assert tuple(key) not in known
        known[tuple(key)] = tuple(value)
        place += 2 * word + 2
    while place < len(whole):
        assert whole[place] == ASKS
        asked.append(tuple(whole[place + 1 : place + 1 + word]))
        place += 1 + word
    half = len(asked) // 2
    return known, asked[:half], asked[half:]


@pytest.mark.parametrize(("word", "length"), [(1, 64), (2, 64), (2, 1024), (3, 200)])
def test_every_query_has_its_answer(word: int, length: int, mqmtar: Callable[..., Generated]) -> None:
    source = mqmtar(word=word)
    for found in (source.batch(2, length, 20, seed=1), source.problems(20, length)):
        assert found.tokens.shape == found.targets.shape == found.mask.shape == (20, length)
        for tokens, targets, mask in zip(
            *map(np.asarray, (found.tokens, found.targets, found.mask)), strict=True
        ):
            assert (tokens[1:] == targets[:-1]).all()
            known, asked, answers = read_sequence([*tokens.tolist(), int(targets[-1])], word)
            assert len(set(known.values())) == len(known)
            assert [known[key] for key in asked] == answers
            assert len(asked) == 4
            assert targets[mask].tolist() == [letter for answer in answers for letter in answer]
            room = length + 1 - 8 * (1 + word)
            assert len(known) == int(0.8 * room) // (2 * word + 2)
            assert min(min(key) for key in known) >= LETTER


def test_letters_recur_and_words_do_not_suffice_by_their_first(mqmtar: Callable[..., Generated]) -> None:
    tokens = mqmtar().problems(1, 4096).tokens[0].tolist()
    known, _, _ = read_sequence([*tokens, SPACE, SPACE][: tokens.index(ASKS) + 1] + [SPACE] * 2, 2)
    assert len({key[0] for key in known}) < 0.8 * len(known)


def test_a_length_without_room_is_refused(mqmtar: Callable[..., Generated]) -> None:
    with pytest.raises(ValueError, match=r"no sequence of 40 tokens: .* 2 pairs, fewer than data.queries=4"):
        mqmtar().problems(1, 40)
