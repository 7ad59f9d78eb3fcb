"""Arithmetic with binary numbers."""

import math
from operator import add, mul

from numpy.random import Generator

from data.tasks.base import Task, random_string


class BinaryAddition(Task):
    """Binary addition (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 011+1 -> 111 (6 + 1 = 7).

    The lowest digit comes first. Both numbers are positive and may end in zeros, the sum does not. `length`
    counts both numbers and the sign, which may stand anywhere between. Lengths 1 and 2, too short for two
    numbers, are left out here.
    """

    alphabet = "01+"
    operation = staticmethod(add)
    shortest = 3

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        first = int(draw.integers(1, length - 1))
        a, b = (positive(size, draw) for size in (first, length - 1 - first))
        result = self.operation(int(a[::-1], 2), int(b[::-1], 2))
        return f"{a}{self.alphabet[-1]}{b}", f"{result:b}"[::-1]

    def size(self, length: int) -> tuple[int, int]:
        return length, length - 1


class BinaryMultiplication(BinaryAddition):
    """Binary multiplication (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 011*01 -> 0011.

    That is 6 * 2 = 12; numbers are as in binary addition.
    """

    alphabet = "01*"
    operation = staticmethod(mul)


class ComputeSqrt(Task):
    """Compute sqrt (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 100101 -> 110 (37 -> 6).

    The highest digit comes first. The root is rounded down and has half as many digits as the number.
    """

    alphabet = "01"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question = positive(length, draw)
        return question, f"{math.isqrt(int(question, 2)):b}".zfill((length + 1) // 2)

    def size(self, length: int) -> tuple[int, int]:
        return length, (length + 1) // 2


def positive(length: int, draw: Generator) -> str:
    text = random_string("01", length, draw)
    return text if "1" in text else positive(length, draw)
