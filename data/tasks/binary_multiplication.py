"""The product of two binary numbers."""

from numpy.random import Generator

from data.task import Task
from data.tasks.binary_addition import digits, numbers, value


class BinaryMultiplication(Task):
    """Binary multiplication (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 011*01 -> 0011.

    That is 6 * 2 = 12. Numbers are as in `binary_addition`.
    """

    alphabet = "01*"
    shortest = 3

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        a, b = numbers(length - 1, draw)
        return f"{a}*{b}", digits(value(a) * value(b))

    def size(self, length: int) -> tuple[int, int]:
        return length, length - 1
