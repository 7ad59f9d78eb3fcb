"""Every answer of every task equals that of a solver which is written in another way."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from data.tasks.base import Task, draws

LENGTHS = (*range(1, 14), 20, 33)


def problems_of(
    task: Task, lengths: tuple[int, ...] = LENGTHS, count: int = 25
) -> Iterator[tuple[int, str, str]]:
    """Yield problems of many seeds and lengths."""
    for length in lengths:
        if task.shortest <= length <= (task.longest or length):
            for draw in draws(count, 77, length):
                yield length, *task.problem(length, draw)


def stack(question: str) -> str:
    """Solve backwards: a removal takes the item that was added last."""
    content, taken = "", 0
    for symbol in reversed(question):
        if symbol == "-":
            taken += 1
        elif taken:
            taken -= 1
        else:
            content += {"o": "0", "i": "1"}.get(symbol, symbol)
    return content


def root(question: str) -> str:
    """Return the integer square root, bit by bit."""
    number, found = int(question, 2), 0
    for bit in reversed(range(len(question) // 2 + 1)):
        if (found + (1 << bit)) ** 2 <= number:
            found += 1 << bit
    return format(found, f"0{-(-len(question) // 2)}b")


def little(text: str) -> int:
    return sum(1 << place for place, bit in enumerate(text) if bit == "1")


def binary(question: str) -> str:
    a, operator, b = re.fullmatch("([01]+)([+*])([01]+)", question).groups()
    result = little(a) + little(b) if operator == "+" else little(a) * little(b)
    return "".join(str(result >> place & 1) for place in range(result.bit_length()))


def missing(question: str) -> str:
    half = question.rstrip("_")
    first, second = half[: len(half) // 2], half[len(half) // 2 :]
    return second[first.index("?")] if "?" in first else first[second.index("?")]


def solutions(question: str) -> str:
    left, right = question.split("=")
    return "".join(x for x in "01234" if (eval(left.replace("x", x)) - int(right)) % 5 == 0)


def polynomial(question: str) -> str:
    x, terms = question.split(":")
    python = re.sub(r"([+-]\d)x(\d)", rf"+(\1)*({x})**\2", terms)
    return str(eval(python) % 10)


def lego(question: str) -> str:
    """Apply the equations in any order, until nothing new follows."""
    equations, asked = question.split("?")
    known = {"1": 1}
    while asked not in known:
        for equation in equations.split(","):
            name, sign, other = re.fullmatch("(.)=(.)(.)", equation).groups()
            if other in known:
                known[name] = known[other] * int(sign + "1")
    return "+" if known[asked] == 1 else "-"


def odds(question: str) -> str:
    places = sorted(range(len(question)), key=lambda place: (place % 2 == 0, place))
    return "".join(question[place] for place in places)


def backwards(question: str) -> str:
    return "".join(question[-place] for place in range(1, len(question) + 1))


SOLVERS: dict[str, Callable[[str], str]] = {
    "even_pairs": lambda q: str(int(q[0] != q[-1])),  # an odd number of changes leads to the other symbol
    "modular_arithmetic_simple": lambda q: str(eval(q) % 5),
    "parity_check": lambda q: str(int(q, 2).bit_count() & 1),
    "parity": lambda q: str(int(q, 2).bit_count() & 1),
    "cycle_navigation": lambda q: str(int(np.cumsum([{"<": 4, "=": 0, ">": 1}[step] for step in q])[-1]) % 5),
    "stack_manipulation": stack,
    "reverse_string": backwards,
    "reverse": backwards,
    "modular_arithmetic": lambda q: str(eval(q) % 5),
    "solve_equation": solutions,
    "duplicate_string": lambda q: "".join([q, q]),
    "missing_duplicate_string": missing,
    "odds_first": odds,
    "binary_addition": binary,
    "binary_multiplication": binary,
    "compute_sqrt": root,
    "bucket_sort": lambda q: "".join(str(n) * Counter(q)[str(n)] for n in range(5)),
    "copy": lambda q: q,
    "sort": lambda q: "".join(sorted(q, key=lambda step: (step.isalpha(), step.isupper(), step))),
    "addition": lambda q: str(eval(q, {})) if not re.search(r"\b0\d", q) else "a number begins with 0",
    "summation": lambda q: str(eval(q))[-1],
    "polynomial": polynomial,
    "lego": lego,
}


FORMS = {
    "even_pairs": "[01]{LENGTH}",
    "parity": "[01]{LENGTH}",
    "parity_check": "[01]{LENGTH}",
    "cycle_navigation": "[<=>]{LENGTH}",
    "stack_manipulation": "(?=.{LENGTH}$)[01]+[-oi]*",
    "reverse_string": "[01]{LENGTH}",
    "modular_arithmetic": "(?=.{LENGTH}$)[-0-4+*()]+",
    "solve_equation": "(?=.{LENGTH}$)[-0-4+()]*x[-0-4+()]*=[0-4]",
    "duplicate_string": "[01]{LENGTH}",
    "missing_duplicate_string": r"(?=.{LENGTH}$)[01]*\?[01]*_?",
    "odds_first": "[01]{LENGTH}",
    "binary_addition": r"(?=.{LENGTH}$)[01]*1[01]*\+[01]*1[01]*",
    "binary_multiplication": r"(?=.{LENGTH}$)[01]*1[01]*\*[01]*1[01]*",
    "compute_sqrt": "(?=.{LENGTH}$)[01]*1[01]*",
    "bucket_sort": "[0-4]{LENGTH}",
    "copy": "[0-9a-f]{LENGTH}",
    "reverse": "[0-9a-f]{LENGTH}",
    "sort": "[0-9a-zA-N]{LENGTH}",
}


@pytest.mark.parametrize("name", SOLVERS)
def test_answers_are_right(name: str, task: Callable[..., Task]) -> None:
    found = list(problems_of(task(name)))
    assert len(found) > 250
    for length, question, answer in found:
        assert answer == SOLVERS[name](question), question
        if form := FORMS.get(name):
            assert re.fullmatch(form.replace("LENGTH", str(length)), question), question
    assert len({answer for _, _, answer in found}) > 1


def test_even_lengths_of_simple_arithmetic_stand_for_odd_ones(task: Callable[..., Task]) -> None:
    for length, question, _ in problems_of(task("modular_arithmetic_simple"), count=10):
        assert re.fullmatch(r"[0-4]([-+*][0-4])*", question)
        assert len(question) == length - (length % 2 == 0)


def test_ranges_of_a_polynomial(task: Callable[..., Task]) -> None:
    values: dict[str, set[str]] = {"x": set(), "factor": set(), "degree": set()}
    for length, question, _ in problems_of(task("polynomial")):
        x, terms = question.split(":")
        found = re.findall(r"([+-]\d)x(\d)", terms)
        assert len(found) == length
        values["x"].add(x)
        values["factor"] |= {factor for factor, _ in found}
        values["degree"] |= {degree for _, degree in found}
    assert values["x"] == {"-2", "-1", "+0", "+1", "+2"}
    assert values["factor"] == {"-3", "-2", "-1", "+0", "+1", "+2", "+3"}
    assert values["degree"] == {"0", "1", "2", "3"}


def test_lego_in_any_order(task: Callable[..., Task]) -> None:
    shuffled = task("lego", shuffled=True)
    found = list(problems_of(shuffled))
    for _, question, answer in found:
        assert answer == lego(question)
    assert sum(question[3] != "1" for length, question, _ in found if length > 4) > 100


def test_copy_of_one_symbol(task: Callable[..., Task]) -> None:
    for length, question, answer in problems_of(task("copy", same=True)):
        assert question == answer == question[0] * length


def first_operand(question: str) -> int:
    """Return the length of a in (a+b)."""
    return len(re.fullmatch(r"\((.+?)([-+*])((?:\(?-?[0-4]\)?)+)\)", question)[1])


def place_in_chain(question: str) -> int:
    equations, asked = question.split("?")
    names = [equation[0] for equation in equations.split(",")]
    assert len(set(names)) == len(names)
    assert re.fullmatch("(.=.(1|[a-z]))(,.=.[a-z])*", equations)
    return names.index(asked)


@pytest.mark.parametrize(
    ("name", "length", "of", "values", "least"),
    [
        ("modular_arithmetic", 7, first_operand, {1, 2, 3}, 60),
        ("binary_addition", 6, lambda q: q.index("+"), {1, 2, 3, 4}, 45),
        ("missing_duplicate_string", 8, lambda q: q.index("?"), set(range(8)), 18),
        ("lego", 7, place_in_chain, {4, 5, 6}, 60),  # in the second half of a chain
        (
            "addition",
            3,
            lambda q: tuple(map(len, q.split("+"))),
            {(3, 1), (3, 2), (3, 3), (2, 3), (1, 3)},
            40,
        ),
        ("summation", 1, int, set(range(1, 10)), 15),
    ],
)
def test_all_kinds_of_questions_are_drawn(name, length, of, values, least, task) -> None:
    """Of 300 draws each kind takes at least three quarters of its expected share."""
    found = Counter(of(question) for _, question, _ in problems_of(task(name), (length,), 300))
    assert set(found) == values
    assert min(found.values()) >= least
