"""Whether a string has an odd number of ones."""

from numpy.random import Generator

from data.task import Task, random_string


class Parity(Task):
    """Parity: 1101 -> 1, 1100 -> 0. In Ruoss et al. (2023, https://arxiv.org/abs/2305.16843: parity check)
    and Kazemnejad et al. (2023, https://arxiv.org/abs/2305.19466)."""

    alphabet = "01"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question = random_string("01", length, draw)
        return question, str(question.count("1") % 2)

    def size(self, length: int) -> tuple[int, int]:
        return length, 1
