"""Addition of decimal numbers, in the formats that papers on longer numbers use."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from conf.errors import UsageError
from data.batch import Batch
from data.source import Problems
from data.tasks.base import FIRST, SEPARATOR, Task, random_string
from data.tasks.strings import SYMBOLS

DIGITS, LETTERS = SYMBOLS[:10], SYMBOLS[10:]
PLUS = FIRST + len(DIGITS)  # its id
SHIFTS = 4  # a stream of seeds that problems do not share


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
        if self.hints and self.positions:
            raise UsageError("data.hints and data.positions say the same in two ways: leave one out.")
        super().__post_init__()

    @property
    def longest(self) -> int | None:
        return self.hints - 1 if self.hints else None  # a sum may have one digit more

    @property
    def alphabet(self) -> str:
        return DIGITS + "+" + LETTERS[: self.hints]

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        more = int(draw.integers(1 - length, length))  # digits that the first has more than the second
        a, b = (number_text(size, draw) for size in (length + min(more, 0), length - max(more, 0)))
        first = int(draw.integers(self.hints - length)) if self.hints else 0
        question = "+".join(self.number(digits, self.reverse == "all", first) for digits in (a, b))
        return question, self.number(str(int(a) + int(b)), self.reverse != "none", first)

    def number(self, digits: str, is_reversed: bool, first: int) -> str:
        """Return a number in its format; `first` is the number of the lowest digit's hint."""
        lowest_first = [
            f"{LETTERS[first + place]}{digit}" if self.hints else digit
            for place, digit in enumerate(reversed(digits))
        ]
        return "".join(lowest_first if is_reversed else reversed(lowest_first))

    def size(self, length: int) -> tuple[int, int]:
        characters = 2 if self.hints else 1  # of a digit
        return 2 * characters * length + 1, characters * (length + 1)

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        batch = super().batch(step, length, size, seed, rank, world)
        draw = np.random.default_rng([SHIFTS, seed, step])
        count = 1 if self.positions == "abacus" else size
        shifts = torch.from_numpy(draw.integers(self.shift, endpoint=True, size=(count, 1))).expand(size, 1)
        return replace(batch, positions=self.positions_of(batch, shifts[rank::world]))

    def problems(self, count: int, length: int) -> Problems:
        problems = super().problems(count, length)
        unmoved = torch.zeros(count, 1, dtype=torch.long)
        return replace(problems, positions=self.positions_of(problems, unmoved))

    def positions_of(self, found: Batch | Problems, shifts: Tensor) -> Tensor | None:
        """Return the positions of tokens (N, T), of which those above 0 are moved by `shifts` (N, 1)."""
        if self.positions is None:
            return None
        ids = torch.cat([found.tokens, found.targets[:, -1:]], 1)  # (N, T + 1)
        is_digit = (ids >= FIRST) & (ids < PLUS)
        positions = count_in_runs(is_digit)  # from the first digit of a number
        if self.positions == "coupling":
            from_last = count_in_runs(is_digit.flip(1)).flip(1)
            in_answer = (ids == SEPARATOR).cumsum(1) > 0
            is_reversed = in_answer if self.reverse == "answer" else self.reverse == "all"
            places = torch.where(torch.as_tensor(is_reversed), positions, from_last)
            digits = (is_digit & in_answer).sum(1, keepdim=True)  # of the answer
            separator = digits + 2 if self.reverse == "none" else torch.ones_like(digits)
            positions = torch.where(is_digit, places + 1, (ids == PLUS).long())
            positions = torch.where(ids == SEPARATOR, separator, positions)
        return torch.where(positions > 0, positions + shifts, 0)[:, :-1]


def count_in_runs(mask: Tensor) -> Tensor:
    """Return 1, 2, ... in each run of true entries of a row, else 0: (N, T) -> (N, T)."""
    total = mask.cumsum(1)
    return total - torch.where(mask, 0, total).cummax(1).values


def number_text(length: int, draw: Generator) -> str:
    if length == 1:
        return random_string(DIGITS, 1, draw)
    return random_string(DIGITS[1:], 1, draw) + random_string(DIGITS, length - 1, draw)
