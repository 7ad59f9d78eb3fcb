"""Counting, and finding the most frequent symbol."""

from collections import Counter
from dataclasses import dataclass

from numpy.random import Generator

from data.tasks.base import random_string
from data.tasks.strings import String


@dataclass(kw_only=True)
class Counting(String):
    """Counting (Zhou et al., 2023, https://arxiv.org/abs/2310.16028): 25 -> 2345.

    The question is the first and the last of some consecutive symbols, and the answer all of them. `length`
    counts those.
    """

    @property
    def longest(self) -> int | None:  # type: ignore[override]
        return self.symbols

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        first = int(draw.integers(self.symbols - length + 1))
        answer = self.alphabet[first : first + length]
        return answer[0] + answer[-1], answer

    def size(self, length: int) -> tuple[int, int]:
        return 2, length


@dataclass(kw_only=True)
class Mode(String):
    """Mode (Zhou et al., 2023, https://arxiv.org/abs/2310.16028): 30331 -> 3, the most frequent symbol.

    Strings in which two symbols are the most frequent do not occur.
    """

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        while True:
            question = random_string(self.alphabet, length, draw)
            (first, most), *others = Counter(question).most_common(2)
            if not others or others[0][1] < most:
                return question, first

    def size(self, length: int) -> tuple[int, int]:
        return length, 1
