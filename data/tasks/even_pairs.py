"""Whether neighbours differ an odd number of times."""

from itertools import pairwise

from numpy.random import Generator

from data.task import Task, random_string


class EvenPairs(Task):
    """Even pairs (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 0110 -> 0, 0011 -> 1.

    0 where 01 and 10 together occur an even number of times, else 1.
    """

    alphabet = "01"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question = random_string("01", length, draw)
        return question, str(sum(a != b for a, b in pairwise(question)) % 2)

    def size(self, length: int) -> tuple[int, int]:
        return length, 1
