"""Questions that are any string, whose answer is a function of it."""

import string
from abc import abstractmethod
from dataclasses import dataclass

from numpy.random import Generator

from data.task import Task, random_string

SYMBOLS = string.digits + string.ascii_letters + "".join(map(chr, range(0xC0, 0x250)))  # in order


@dataclass(kw_only=True)
class String(Task):
    """Any of `symbols` at each place."""

    symbols: int = 2

    @property
    def alphabet(self) -> str:
        if not 1 < self.symbols <= len(SYMBOLS):
            raise ValueError(
                f"data={self.name} has symbols={self.symbols}, but it must be 2 to {len(SYMBOLS)}."
            )
        return SYMBOLS[: self.symbols]

    @abstractmethod
    def answer(self, question: str) -> str:
        """What follows from the question."""

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question = random_string(self.alphabet, length, draw)
        return question, self.answer(question)

    def size(self, length: int) -> tuple[int, int]:
        return length, length
