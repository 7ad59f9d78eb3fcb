"""Retrieval: the answer is a statement of the text, wherever that stands."""

import pytest
import torch

from data.tasks.passkey import DEPTHS
from data.tasks.retrieval import ANSWER, KINDS, SPAN, Retrieval
from data.text.tokens import Text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [47, 200])
def test_the_text_says_what_is_asked(stdlib: Text, kind: str, length: int) -> None:
    problems = Retrieval(stdlib, kind).problems(23, length)
    assert problems.tokens.shape == problems.targets.shape == (23, length)
    assert torch.equal(problems.tokens[:, 1:], problems.targets[:, :-1])
    assert problems.mask.sum(1).tolist() == [ANSWER] * 23
    for tokens, targets, depth in zip(problems.tokens, problems.targets, problems.depth, strict=True):
        whole = torch.cat([tokens[:1], targets])
        asked = whole[-SPAN:]
        begin = round(float(depth) * (length + 1 - 2 * SPAN))
        assert whole[begin : begin + SPAN].tolist() == asked.tolist()


def test_depths_differ_in_nothing_else(stdlib: Text) -> None:
    problems = Retrieval(stdlib, "needle").problems(10, 100)
    assert problems.depth.tolist() == [*DEPTHS, *DEPTHS]
    for first in (0, 5):
        answers = problems.targets[first : first + 5, -ANSWER:]
        assert (answers == answers[0]).all()
    assert not torch.equal(problems.targets[0, -ANSWER:], problems.targets[5, -ANSWER:])


def test_a_length_without_room_is_refused(stdlib: Text) -> None:
    with pytest.raises(ValueError, match="at least 47 tokens, not 46"):
        Retrieval(stdlib, "needle").problems(5, 46)
