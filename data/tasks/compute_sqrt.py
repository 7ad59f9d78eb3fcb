"""The square root of a binary number."""

import math

from numpy.random import Generator

from data.task import Task
from data.tasks.binary_addition import positive


class ComputeSqrt(Task):
    """Compute sqrt (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 100101 -> 110 (37 -> 6).

    The root is rounded down. Digits of the highest value come first, the root has half as many as the number.
    """

    alphabet = "01"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question = positive(length, draw)
        return question, f"{math.isqrt(int(question, 2)):b}".zfill((length + 1) // 2)

    def size(self, length: int) -> tuple[int, int]:
        return length, (length + 1) // 2
