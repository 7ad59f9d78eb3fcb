"""The last digit of a sum of digits."""

from numpy.random import Generator

from data.task import Task, random_string


class Summation(Task):
    """Summation modulo 10 (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466): 3+9+4 -> 6.

    `length` counts the digits, each 1 to 9.
    """

    alphabet = "0123456789+"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        values = random_string("123456789", length, draw)
        return "+".join(values), str(sum(map(int, values)) % 10)

    def size(self, length: int) -> tuple[int, int]:
        return 2 * length - 1, 1
