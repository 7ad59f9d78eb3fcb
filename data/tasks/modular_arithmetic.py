"""The value of an expression with brackets, modulo 5."""

from numpy.random import Generator

from data.task import Task, random_string

MODULUS = 5


class ModularArithmetic(Task):
    """Modular arithmetic (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): ((-2)*(3+1)) -> 2."""

    alphabet = "01234+-*()"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question, value = expression(length, "+-*", draw)
        return question, str(value)

    def size(self, length: int) -> tuple[int, int]:
        return length, 1


def expression(length: int, operators: str, draw: Generator) -> tuple[str, int]:
    """So many characters, and their value modulo 5.

    (a+b), where the length of a is any, down to expressions of four characters at most: d, -d, (d) or (-d).
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
