"""The question again."""

from dataclasses import dataclass

from numpy.random import Generator

from data.task import random_string
from data.tasks.string import String


@dataclass(kw_only=True)
class Copy(String):
    """Copy (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466): 3a8 -> 3a8.

    The authors take 100 symbols. `same`: one symbol again and again, so that only their number must be kept;
    most of their published curves of copying are of this variant.
    """

    same: bool = False

    def answer(self, question: str) -> str:
        return question

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        if not self.same:
            return super().problem(length, draw)
        question = random_string(self.alphabet, 1, draw) * length
        return question, question
