"""Every answer of every task of strings and numbers equals that of a solver written in another way."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from data.tasks.base import Task, draws

LENGTHS = (*range(1, 14), 20, 33)


def problems_of(
    task: Task, lengths: tuple[int, ...] = LENGTHS, count: int = 25
) -> Iterator[tuple[int, str, str]]:
    """Yield problems of many seeds and lengths."""
    for length in lengths:
        if length <= (task.longest or length):
            for draw in draws(count, 77, length):
                yield length, *task.problem(length, draw)


def backwards(question: str) -> str:
    return "".join(question[-place] for place in range(1, len(question) + 1))


SOLVERS: dict[str, Callable[[str], str]] = {
    "even_pairs": lambda q: str(int(q[0] != q[-1])),  # an odd number of changes leads to the other symbol
    "parity": lambda q: str(int(q, 2).bit_count() & 1),
    "reverse": backwards,
    "bucket_sort": lambda q: "".join(str(n) * Counter(q)[str(n)] for n in range(5)),
    "copy": lambda q: q,
    "copy_unique": lambda q: q if len(set(q)) == len(q) else "a symbol occurs twice",
    "sort": lambda q: "".join(sorted(q, key=lambda step: (step.isalpha(), step.isupper(), step))),
    "addition": lambda q: str(eval(q, {})) if not re.search(r"\b0\d", q) else "a number begins with 0",
    "counting": lambda q: re.search(f"{q[0]}.*{q[1]}" if q[0] != q[1] else q[0], ORDER)[0],
    "mode": lambda q: ",".join(
        symbol for symbol in set(q) if all(q.count(symbol) > q.count(s) for s in {*q} - {symbol})
    ),
}
ORDER = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
FORMS = {
    "even_pairs": "[01]{LENGTH}",
    "parity": "[01]{LENGTH}",
    "bucket_sort": "[0-4]{LENGTH}",
    "copy": "[0-9a-f]{LENGTH}",
    "copy_unique": "[0-9a-zA-D]{LENGTH}",
    "reverse": "[0-9a-f]{LENGTH}",
    "sort": "[0-9a-zA-N]{LENGTH}",
    "counting": "[0-9a-zA-X]{2}",
    "mode": "[0-4]{LENGTH}",
}


@pytest.mark.parametrize("name", SOLVERS)
def test_answers_are_right(name: str, task: Callable[..., Task]) -> None:
    found = list(problems_of(task(name)))
    assert len(found) > 250
    for length, question, answer in found:
        assert answer == SOLVERS[name](question), question
        if form := FORMS.get(name):
            assert re.fullmatch(form.replace("LENGTH", str(length)), question), question
        if name == "counting":
            assert len(answer) == length
    assert len({answer for _, _, answer in found}) > 1


def test_copy_of_one_symbol(task: Callable[..., Task]) -> None:
    for length, question, answer in problems_of(task("copy", same=True)):
        assert question == answer == question[0] * length


@pytest.mark.parametrize(
    ("name", "length", "of", "values", "least"),
    [
        ("addition", 3, lambda q: (*map(len, q.split("+")),), {(3, 1), (3, 2), (3, 3), (2, 3), (1, 3)}, 40),
        ("counting", 58, lambda q: q[0], {"0", "1", "2"}, 75),
        ("mode", 1, int, set(range(5)), 40),
    ],
)
def test_all_kinds_of_questions_are_drawn(name, length, of, values, least, task) -> None:
    """Of 300 draws each kind takes at least two thirds of its expected share."""
    found = Counter(of(question) for _, question, _ in problems_of(task(name), (length,), 300))
    assert set(found) == values
    assert min(found.values()) >= least
