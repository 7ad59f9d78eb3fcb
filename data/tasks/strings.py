"""Strings that are copied or rearranged."""

import string
from dataclasses import dataclass

from numpy.random import Generator

from conf.errors import UsageError
from data.tasks.base import Task, random_string

SYMBOLS = string.digits + string.ascii_letters + "".join(map(chr, range(0xC0, 0x250)))  # in order


@dataclass(kw_only=True)
class String(Task):
    """A question is any string of `symbols` symbols, and an answer as long as the question."""

    symbols: int = 2

    @property
    def alphabet(self) -> str:
        if not 1 < self.symbols <= len(SYMBOLS):
            raise UsageError(f"data={self.name} needs symbols to be 2 to {len(SYMBOLS)}, not {self.symbols}.")
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
    def longest(self) -> int | None:  # type: ignore[override]
        return self.symbols if self.unique else None

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        if self.unique:
            question = "".join([self.alphabet[number] for number in draw.permutation(self.symbols)[:length]])
            return question, question
        if not self.same:
            return super().problem(length, draw)
        question = random_string(self.alphabet, 1, draw) * length
        return question, question

    def answer(self, question: str) -> str:
        return question


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
