"""The sum of two binary numbers."""

from numpy.random import Generator

from data.task import Task, random_string


class BinaryAddition(Task):
    """Binary addition (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 011+1 -> 111 (6 + 1 = 7).

    Digits of the lowest value come first. Both numbers are positive and may have zeros at their ends, the sum
    has none. `length` counts both numbers and the sign, whose place is any. Lengths 1 and 2, which have no
    room for two numbers, are left out here.
    """

    alphabet = "01+"
    shortest = 3

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        a, b = numbers(length - 1, draw)
        return f"{a}+{b}", digits(value(a) + value(b))

    def size(self, length: int) -> tuple[int, int]:
        return length, length - 1


def numbers(length: int, draw: Generator) -> tuple[str, str]:
    """Two positive numbers that have so many digits together."""
    first = int(draw.integers(1, length))
    return positive(first, draw), positive(length - first, draw)


def positive(length: int, draw: Generator) -> str:
    text = random_string("01", length, draw)
    return text if "1" in text else positive(length, draw)


def value(text: str) -> int:
    return int(text[::-1], 2)


def digits(number: int) -> str:
    return f"{number:b}"[::-1]
