"""Strings that are copied, rearranged or counted."""

import string
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from numpy.random import Generator
from pydantic import Field

from data.tasks.base import Task, random_string

SYMBOLS = string.digits + string.ascii_letters + "".join(map(chr, range(0xC0, 0x250)))  # in order


@dataclass(kw_only=True)
class String(Task):
    """A question is any string of `symbols` symbols, and an answer as long as the question."""

    symbols: Annotated[int, Field(ge=2, le=len(SYMBOLS))] = 2

    @property
    def alphabet(self) -> str:
        return SYMBOLS[: self.symbols]

    def size(self, length: int) -> tuple[int, int]:
        return length, length


@dataclass(kw_only=True)
class Copy(String):
    """Copy (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466): 3a8 -> 3a8.

    The authors use 100 symbols. `same`: one symbol repeated, so that only the count must be kept; most of
    their published copying curves are of this variant. `unique`: no symbol twice, so that each has one
    successor (Zhou et al., 2023, https://arxiv.org/abs/2310.16028).
    """

    same: bool = False
    unique: bool = False

    @property
    def longest(self) -> int | None:
        return self.symbols if self.unique else None

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        if self.unique:
            question = "".join([self.alphabet[number] for number in draw.permutation(self.symbols)[:length]])
        elif self.same:
            question = random_string(self.alphabet, 1, draw) * length
        else:
            question = random_string(self.alphabet, length, draw)
        return question, question


class Reverse(String):
    """Reverse: 3a8 -> 8a3. Ruoss et al. (2023, https://arxiv.org/abs/2305.16843) use 2 symbols, Kazemnejad
    et al. (2023, https://arxiv.org/abs/2305.19466) 100."""

    def answer(self, question: str) -> str:
        return question[::-1]


class Sort(String):
    """Sort, with repetitions: 3083 -> 0338. Ruoss et al. (2023, https://arxiv.org/abs/2305.16843: bucket
    sort) use 5 symbols, Kazemnejad et al. (2023, https://arxiv.org/abs/2305.19466) 50."""

    def answer(self, question: str) -> str:
        return "".join(sorted(question, key=self.alphabet.index))


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


class Counting(String):
    """Counting (Zhou et al., 2023, https://arxiv.org/abs/2310.16028): 25 -> 2345.

    The question is the first and the last of some consecutive symbols, and the answer all of them. `length`
    counts those.
    """

    @property
    def longest(self) -> int:
        return self.symbols

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        first = int(draw.integers(self.symbols - length + 1))
        answer = self.alphabet[first : first + length]
        return answer[0] + answer[-1], answer

    def size(self, length: int) -> tuple[int, int]:
        return 2, length


class Mode(String):
    """Mode (Zhou et al., 2023, https://arxiv.org/abs/2310.16028): 30331 -> 3, the most frequent symbol.

    Strings in which two symbols are the most frequent do not occur.
    """

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        while True:
            question = random_string(self.alphabet, length, draw)
            first, *others = Counter(question).most_common(2)
            if not others or others[0][1] < first[1]:
                return question, first[0]

    def size(self, length: int) -> tuple[int, int]:
        return length, 1
