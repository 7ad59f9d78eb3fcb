"""Addition of decimal numbers, in the formats that papers on longer numbers use."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from conf.errors import UsageError
from data.tasks.base import SHIFTS, Task, random_string
from data.tasks.strings import SYMBOLS

DIGITS, LETTERS = SYMBOLS[:10], SYMBOLS[10:]
MEANINGS = ("abacus", "coupling")


@dataclass(kw_only=True)
class Addition(Task):
    """Addition (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466): 58+164 -> 222.

    `length` is the number of digits of the longer number, which may be either; the shorter may have any
    number of digits. Neither begins with 0 unless it is 0.

    - `reverse`: which numbers are written from their lowest digit on (`all`: 85+461 -> 222).
    - `hints`: that many symbols, one for each place value, of which the right one precedes each digit (index
      hints; Zhou et al., 2023, https://arxiv.org/abs/2310.16028). In training they begin with any of them.
    - `positions`, for encodings that read positions from the data. `abacus` (McLeish et al., 2024,
      https://arxiv.org/abs/2405.17399): the number of a digit in its number, from 1; 0 elsewhere. `coupling`
      (Cho et al., 2024, https://arxiv.org/abs/2405.20671): digits of one place value share a position.
      In training a number from 0 to `shift` is added: with abacus the same to a whole batch, as in the
      authors' code.
    """

    reverse: Literal["none", "answer", "all"] = "none"
    hints: int = 0
    positions: Literal["abacus", "coupling"] | None = None
    shift: int = 0

    def __post_init__(self) -> None:
        if self.reverse not in ("none", "answer", "all"):
            raise UsageError(f"data.reverse={self.reverse} must be none, answer or all.")
        if self.positions not in (None, *MEANINGS):
            raise UsageError(f"data.positions={self.positions} must be null, abacus or coupling.")
        if self.hints and self.positions:
            raise UsageError("data.hints and data.positions say the same in two ways: leave one out.")
        super().__post_init__()

    @property
    def longest(self) -> int | None:  # type: ignore[override]
        return self.hints - 1 if self.hints else None  # a sum may have one digit more

    @property
    def alphabet(self) -> str:
        return DIGITS + "+" + LETTERS[: self.hints]

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        more = int(draw.integers(1 - length, length))  # digits that the first has more than the second
        a, b = (number_text(size, draw) for size in (length + min(more, 0), length - max(more, 0)))
        answer = str(int(a) + int(b))
        first = int(draw.integers(self.hints - length)) if self.hints else 0
        a, b = (self.written(number, self.reverse == "all", first) for number in (a, b))
        return f"{a}+{b}", self.written(answer, self.reverse != "none", first)

    def written(self, number: str, is_reversed: bool, first: int) -> str:
        """Return a number in its format; `first` is the number of the lowest digit's hint."""
        digits = list(reversed(number))
        if self.hints:
            digits = [f"{LETTERS[first + place]}{digit}" for place, digit in enumerate(digits)]
        return "".join(digits if is_reversed else reversed(digits))

    def size(self, length: int) -> tuple[int, int]:
        characters = 2 if self.hints else 1  # of a digit
        return 2 * characters * length + 1, characters * (length + 1)

    def shifts(self, step: int, size: int, seed: int) -> list[int]:
        draw = np.random.default_rng([SHIFTS, seed, step])
        if self.positions == "abacus":
            return [int(draw.integers(self.shift, endpoint=True))] * size
        return [int(shift) for shift in draw.integers(self.shift, endpoint=True, size=size)]

    def encode_positions(
        self, problems: list[tuple[str, str]], width: int, shifts: list[int]
    ) -> Tensor | None:
        """Return the positions of tokens (N, width), 0 after the end of a problem; None if there are none."""
        if self.positions is None:
            return None
        rows = torch.zeros(len(problems), width, dtype=torch.long)
        for row, problem, shift in zip(rows, problems, shifts, strict=True):
            positions = torch.tensor(self.positions_of(*problem))[:width]
            row[: len(positions)] = torch.where(positions > 0, positions + shift, 0)
        return rows

    def positions_of(self, question: str, answer: str) -> list[int]:
        """Return the positions of the tokens of question, separator and answer."""
        a, b = question.split("+")
        if self.positions == "abacus":
            a_places, b_places, places = (list(range(1, len(number) + 1)) for number in (a, b, answer))
            return [*a_places, 0, *b_places, 0, *places]
        a_places, b_places = (place_values(number, self.reverse == "all") for number in (a, b))
        places = place_values(answer, self.reverse != "none")
        separator = 1 if self.reverse != "none" else len(answer) + 2
        return [*a_places, 1, *b_places, separator, *places]


def place_values(number: str, is_reversed: bool) -> list[int]:
    """Return a position for each digit: 2 for the lowest, 3 for the next."""
    places = range(2, len(number) + 2)
    return list(places if is_reversed else reversed(places))


def number_text(length: int, draw: Generator) -> str:
    if length == 1:
        return random_string(DIGITS, 1, draw)
    return random_string(DIGITS[1:], 1, draw) + random_string(DIGITS, length - 1, draw)
