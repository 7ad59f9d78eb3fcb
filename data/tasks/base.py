"""Problems with one right answer, as token ids, that are drawn rather than read."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import torch
from numpy.random import Generator
from pydantic import Field
from torch import Tensor

from conf.errors import UsageError
from data import Data
from data.batch import Batch, inputs_and_targets
from data.digest import of_json
from data.source import Problems, Source

END, SEPARATOR, FIRST = 0, 1, 2  # after the answer, and padding; before the answer; the first symbol's id
TRAINING, HELD_OUT = 1, 2  # streams of seeds that share nothing
Row = tuple[np.ndarray, ...]


class Generated(Data, Source):
    """Problems for which nothing has to be prepared.

    Each is drawn from a seed of its own, so that row i of a batch is the same on any number of processes.
    Held-out problems have other seeds than those in training; only tasks with few questions repeat some.
    """

    def open(self, vocab: int, cache: Path) -> Self:
        """Return the task. Raise UsageError if the model has too few ids."""
        if vocab < self.vocab:
            raise UsageError(
                f"model.vocab={vocab} is too small for data={self.name}, which has {self.vocab} ids: "
                f"set model.vocab={self.vocab}."
            )
        return self

    def vocabulary(self) -> int:
        return self.vocab


class Sequences(Generated):
    """Sequences of any length, in tokens; in training it is model.length."""

    @abstractmethod
    def sequence(self, length: int, draw: Generator, is_training: bool) -> Row:
        """Return tokens, targets and the mask of answers, each (length,)."""

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        rows = draws(size, TRAINING, seed, step, rank=rank, world=world)
        return Batch(*stack_rows(self.sequence(length, draw, True) for draw in rows))

    def problems(self, count: int, length: int) -> Problems:
        rows = draws(count, HELD_OUT, length)
        return Problems(*stack_rows(self.sequence(length, draw, False) for draw in rows))


@dataclass(kw_only=True)
class Task(Generated):
    """One kind of problem: question, separator, answer, end; the answer is scored.

    A subclass is a rule: the answer of any string of its alphabet, or else what a length counts and how a
    problem is drawn.
    """

    name: str
    lengths: Annotated[list[int], Field(min_length=2, max_length=2)]  # shortest and longest in training
    end: bool = False  # whether the end of the answer is predicted too

    @property
    @abstractmethod
    def alphabet(self) -> str:
        """Return all characters of questions and answers."""

    @property
    def longest(self) -> int | None:
        """Return the greatest length that the task is defined for."""
        return None

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        """Return a question of this length and its answer, which depend on the generator alone."""
        question = random_string(self.alphabet, length, draw)
        return question, self.answer(question)

    def answer(self, question: str) -> str:
        """Return the answer of a question, if the question may be any string."""
        raise NotImplementedError

    def size(self, length: int) -> tuple[int, int]:
        """Return the number of characters of the longest question and of the longest answer."""
        return length, 1

    def __post_init__(self) -> None:
        low, high = self.lengths
        if low > high:
            raise UsageError(f"data.lengths={self.lengths} must be the shortest and the longest problem.")
        for length in self.lengths:
            self.check(length)
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
        drawn = int(np.random.default_rng([TRAINING, seed, step]).integers(low, high, endpoint=True))
        rows = draws(size, TRAINING, seed, step, rank=rank, world=world)
        return Batch(*self.encode([self.problem(drawn, row) for row in rows], self.tokens(drawn)))

    def problems(self, count: int, length: int) -> Problems:
        self.check(length)
        problems = [self.problem(length, draw) for draw in draws(count, HELD_OUT, length)]
        return Problems(*self.encode(problems, self.tokens(length)))

    def encode(self, problems: list[tuple[str, str]], width: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return tokens, targets and the mask of answers, each (N, width)."""
        whole = np.full((len(problems), width + 1), END, np.int64)
        mask = np.zeros((len(problems), width), bool)
        for row, (question, answer) in enumerate(problems):
            ids = [*map(self.ids.__getitem__, question), SEPARATOR, *map(self.ids.__getitem__, answer)]
            whole[row, : len(ids)] = ids
            mask[row, len(question) : len(ids) - 1 + self.end] = True
        return *inputs_and_targets(torch.from_numpy(whole)), torch.from_numpy(mask)


def stack_rows(rows: Iterable[Row]) -> list[Tensor]:
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
