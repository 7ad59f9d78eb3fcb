"""Problems of any length with one right answer, as token ids."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from conf.errors import UsageError
from data.batch import Batch, inputs_and_targets
from data.digest import of_json
from data.source import Problems, Source

END, SEPARATOR, FIRST = 0, 1, 2  # after the answer, and padding; before the answer; the first symbol's id
TRAINING, HELD_OUT, SHIFTS = 1, 2, 4  # streams of seeds that share nothing


class Generated(Source):
    """Problems that are drawn rather than read, so that nothing has to be prepared."""

    def open(self, vocab: int, cache: Path) -> Self:
        """Return the task. Raise UsageError if the model has too few ids."""
        if vocab < self.vocab:
            raise UsageError(
                f"model.vocab={vocab} is too small for data={self.name}, which has {self.vocab} ids: "
                f"set model.vocab={self.vocab}."
            )
        return self


@dataclass(kw_only=True)
class Task(Generated, ABC):
    """One kind of problem: question, separator, answer, end; the answer is scored.

    A class in `data/tasks/` defines question and answer, in characters, and what a length counts. Each
    problem is drawn from a seed of its own, so that row i of a batch is the same on any number of processes.
    Held-out problems have other seeds than those in training; only tasks with few questions repeat some.
    """

    name: str
    lengths: list[int]  # of the shortest and of the longest problem in training; one a step, equally likely
    end: bool = False  # whether the end of the answer is predicted too

    longest: ClassVar[int | None] = None  # length that the task is defined for

    @property
    @abstractmethod
    def alphabet(self) -> str:
        """Return all characters of questions and answers."""

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        """Return a question of this length and its answer, which depend on the generator alone; by default
        any string."""
        question = random_string(self.alphabet, length, draw)
        return question, self.answer(question)

    def answer(self, question: str) -> str:
        """Return the answer of a question, if the question may be any string."""
        raise NotImplementedError

    def size(self, length: int) -> tuple[int, int]:
        """Return the number of characters of the longest question and of the longest answer."""
        return length, 1

    def __post_init__(self) -> None:
        match self.lengths:
            case [int(low), int(high)] if low <= high:
                self.check(low)
                self.check(high)
            case _:
                raise UsageError(
                    f"data={self.name} needs lengths to be two whole numbers, of the shortest and longest "
                    f"training problem, such as [1,20], not {self.lengths}."
                )
        self.ids = {character: FIRST + number for number, character in enumerate(self.alphabet)}
        self.vocab, self.trained_length = FIRST + len(self.ids), high
        samples = [self.problem(n, draw) for n in (low, high) for draw in draws(4, HELD_OUT, n)]
        self.fingerprint = of_json([type(self).__name__, parameters(self), samples])
        question, answer = self.problem(min(max(low, 6), high), next(draws(1, HELD_OUT)))
        self.description = f"{self.name}: problems of length {low} to {high}, such as {question} -> {answer}"

    def check(self, length: int) -> None:
        """Raise UsageError if there is no problem of this length."""
        if not 1 <= length <= (self.longest or length):
            bound = "shortest has 1" if length < 1 else f"longest has {self.longest}"
            raise UsageError(f"data={self.name} has no problem of length {length}: the {bound}.")

    def tokens(self, length: int) -> int:
        """Return the number of tokens of the longest problem of this length, without its end token."""
        return sum(self.size(length)) + 1

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        """Return problems of one length; every length is equally likely, and nothing is padded."""
        low, high = self.lengths
        if length < self.tokens(high):
            raise UsageError(
                f"data={self.name} has training problems of {self.tokens(high)} tokens, more than "
                f"model.length={length}: set model.length={self.tokens(high)} or lower data.lengths."
            )
        chosen = int(np.random.default_rng([TRAINING, seed, step]).integers(low, high, endpoint=True))
        rows = draws(size, TRAINING, seed, step, rank=rank, world=world)
        problems = [self.problem(chosen, draw) for draw in rows]
        shifts = self.shifts(step, size, seed)[rank::world]
        width = self.tokens(chosen)
        positions = self.encode_positions(problems, width, shifts)
        return Batch(*self.encode(problems, width), positions=positions)

    def problems(self, count: int, length: int) -> Problems:
        self.check(length)
        problems = [self.problem(length, draw) for draw in draws(count, HELD_OUT, length)]
        width = self.tokens(length)
        positions = self.encode_positions(problems, width, [0] * count)
        return Problems(*self.encode(problems, width), positions=positions)

    def encode(self, problems: list[tuple[str, str]], width: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return tokens, targets and the mask of answers, each (N, width)."""
        whole = np.full((len(problems), width + 1), END, np.int64)
        mask = np.zeros((len(problems), width), bool)
        for row, (question, answer) in enumerate(problems):
            ids = [*map(self.ids.__getitem__, question), SEPARATOR, *map(self.ids.__getitem__, answer)]
            whole[row, : len(ids)] = ids
            mask[row, len(question) : len(ids) - 1 + self.end] = True
        return *inputs_and_targets(torch.from_numpy(whole)), torch.from_numpy(mask)

    def shifts(self, step: int, size: int, seed: int) -> list[int]:
        """Return what is added to the positions of each problem of a training step."""
        return [0] * size

    def encode_positions(
        self, problems: list[tuple[str, str]], width: int, shifts: list[int]
    ) -> Tensor | None:
        """Return the positions of tokens (N, width); None if the data give none."""
        return None


def stack_rows(rows: Iterable[tuple[np.ndarray, ...]]) -> list[Tensor]:
    return [torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True)]


def draws(count: int, *seed: int, rank: int = 0, world: int = 1) -> Iterator[Generator]:
    """Return a generator for each of the rows rank, rank + world, ..."""
    return (np.random.default_rng([*seed, row]) for row in range(rank, count, world))


def random_string(alphabet: str, length: int, draw: Generator) -> str:
    """Return a string of random characters."""
    return "".join([alphabet[number] for number in draw.integers(len(alphabet), size=length).tolist()])


def parameters(source: Any) -> dict[str, Any]:
    """Return the settings of a source, without its name."""
    return {item.name: getattr(source, item.name) for item in fields(source) if item.name != "name"}
