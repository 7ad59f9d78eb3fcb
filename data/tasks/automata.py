"""Strings of bits whose answer an automaton with two states finds."""

from itertools import pairwise

from data.tasks.base import Task


class Parity(Task):
    """Parity of the number of ones: 1101 -> 1, 1100 -> 0. In Ruoss et al. (2023,
    https://arxiv.org/abs/2305.16843: parity check) and Kazemnejad et al. (2023,
    https://arxiv.org/abs/2305.19466)."""

    alphabet = "01"

    def answer(self, question: str) -> str:
        return str(question.count("1") % 2)


class EvenPairs(Task):
    """Even pairs (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 0110 -> 0, 0011 -> 1.

    0 where 01 and 10 together occur an even number of times, else 1.
    """

    alphabet = "01"

    def answer(self, question: str) -> str:
        return str(sum(a != b for a, b in pairwise(question)) % 2)
