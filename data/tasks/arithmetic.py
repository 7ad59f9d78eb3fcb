"""Arithmetic: decimal, and modulo 5 with and without brackets."""

import math
import re

from numpy.random import Generator

from data.tasks.base import Task, random_string

DIGITS = "0123456789"
MODULUS = 5


class Addition(Task):
    """Addition (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466): 58+164 -> 222.

    `length` is the number of digits of the longer number, which may be either; the shorter may have any
    number of digits. Neither begins with 0 unless it is 0.
    """

    alphabet = DIGITS + "+"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        more = int(draw.integers(1 - length, length))  # digits that the first has more than the second
        a, b = (number_text(size, draw) for size in (length + min(more, 0), length - max(more, 0)))
        return f"{a}+{b}", str(int(a) + int(b))

    def size(self, length: int) -> tuple[int, int]:
        return 2 * length + 1, length + 1


class Summation(Task):
    """Summation modulo 10 (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466): 3+9+4 -> 6.

    `length` counts the digits, each from 1 to 9.
    """

    alphabet = DIGITS + "+"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        values = random_string(DIGITS[1:], length, draw)
        return "+".join(values), str(sum(map(int, values)) % 10)

    def size(self, length: int) -> tuple[int, int]:
        return 2 * length - 1, 1


class Polynomial(Task):
    """Polynomial evaluation modulo 10 (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466):
    -2:+3x2-1x1 -> 4, the last digit of 3x^2 - x at x = -2.

    `length` counts the terms: coefficients from -3 to 3, degrees from 0 to 3 in any order, x from -2 to 2.
    Every number has its sign, so that all questions of a length have equally many characters.
    """

    alphabet = DIGITS + "+-x:"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        x = int(draw.integers(-2, 3))
        factors, degrees = draw.integers(-3, 4, length).tolist(), draw.integers(4, size=length).tolist()
        terms = list(zip(factors, degrees, strict=True))
        question = f"{x:+d}:" + "".join(f"{factor:+d}x{degree}" for factor, degree in terms)
        return question, str(sum(factor * x**degree for factor, degree in terms) % 10)

    def size(self, length: int) -> tuple[int, int]:
        return 3 + 4 * length, 1


class ModularArithmeticSimple(Task):
    """Modular arithmetic without brackets (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 1+2*3 -> 2.

    Digits below 5 with + - * between them; * binds tighter. `length` counts digits and operators; an even
    one stands for the odd one below it.
    """

    alphabet = "01234+-*"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        count = (length + 1) // 2
        digits, operators = random_string("01234", count, draw), random_string("+-*", count, draw)
        question = "".join(a + b for a, b in zip(digits, operators, strict=True))[:-1]
        terms = re.findall(r"([+-]?)([\d*]+)", question)
        total = sum(int(sign + "1") * math.prod(map(int, term.split("*"))) for sign, term in terms)
        return question, str(total % MODULUS)

    def size(self, length: int) -> tuple[int, int]:
        return (length + 1) // 2 * 2 - 1, 1


class ModularArithmetic(Task):
    """Modular arithmetic with brackets (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843):
    ((-2)*(3+1)) -> 2."""

    alphabet = "01234+-*()"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question, value = expression(length, "+-*", draw)
        return question, str(value)


class SolveEquation(Task):
    """Solve equation (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): (3-(x+1))=4 -> 3.

    An expression of + and - with brackets, `length - 2` characters long, in which x replaces one digit, and
    its value. Lengths 1 and 2, too short for an equation, are left out here.
    """

    alphabet = "01234+-()x="
    shortest = 3

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        text, value = expression(length - 2, "+-", draw)
        place = int(draw.integers(len(text)))
        while not text[place].isdigit():
            place = (place + 1) % len(text)
        return f"{text[:place]}x{text[place + 1 :]}={value}", text[place]


def number_text(length: int, draw: Generator) -> str:
    if length == 1:
        return random_string(DIGITS, 1, draw)
    return random_string(DIGITS[1:], 1, draw) + random_string(DIGITS, length - 1, draw)


def expression(length: int, operators: str, draw: Generator) -> tuple[str, int]:
    """Return an expression of `length` characters, and its value modulo 5.

    (a+b), where a has any length, down to expressions of at most four characters: d, -d, (d) or (-d).
    """
    if length < 5:
        digit = random_string("01234", 1, draw)
        text = ("-" if length % 2 == 0 else "") + digit
        return (f"({text})" if length > 2 else text), int(digit) * (-1) ** (length + 1) % MODULUS
    first = int(draw.integers(1, length - 3))
    (left, a), (right, b) = (expression(n, operators, draw) for n in (first, length - 3 - first))
    operator = random_string(operators, 1, draw)
    value = {"+": a + b, "-": a - b, "*": a * b}[operator]
    return f"({left}{operator}{right})", value % MODULUS
