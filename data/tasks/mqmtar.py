"""Associative recall in which keys and values are words of several letters."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.random import Generator
from pydantic import Field

from conf.errors import UsageError
from data.digest import of_json
from data.tasks.base import HELD_OUT, Row, Sequences, draws, parameters

SPACE, IS, ASKS, LETTER = 0, 1, 2, 3  # ids: between pairs; of key and value; before a query; the first letter


@dataclass(kw_only=True)
class MultiTokenRecall(Sequences):
    """Multi-query multi-token associative recall (Vasylenko et al., 2025, https://arxiv.org/abs/2506.16640).

    Pairs `key IS value SPACE` with more spaces in between; then the queries `ASKS key`, and then for each of
    them `ASKS value`, of which the letters are scored. No key and no value occurs twice, but letters do.
    `pairs` is the share of the tokens before the queries that pairs take. Lengths count tokens.
    """

    name: str
    letters: Annotated[int, Field(ge=2)] = 256
    word: Annotated[int, Field(ge=1)] = 2  # letters of a key, and of a value
    pairs: Annotated[float, Field(gt=0, le=1)] = 0.8
    queries: Annotated[int, Field(ge=1)] = 4

    def __post_init__(self) -> None:
        self.vocab = LETTER + self.letters
        shortest = int(np.ceil(self.queries * self.unit / self.pairs)) + self.tail
        samples = [self.sequence(2 * shortest, draw, True)[0].tolist() for draw in draws(4, HELD_OUT)]
        self.fingerprint = of_json([type(self).__name__, parameters(self), samples])
        self.description = f"{self.name}: {self.queries} queries of words of {self.word} letters"

    @property
    def unit(self) -> int:
        """Return the tokens of a pair."""
        return 2 * self.word + 2

    @property
    def tail(self) -> int:
        """Return the tokens of queries and answers, without the last target."""
        return 2 * self.queries * (1 + self.word) - 1

    def sequence(self, length: int, draw: Generator, is_training: bool) -> Row:
        room = length - self.tail
        count = min(int(room * self.pairs / self.unit), self.letters**self.word)
        if count < self.queries:
            raise UsageError(
                f"data={self.name} has no sequence of {length} tokens: it has room for {count} pairs, fewer "
                f"than data.queries={self.queries}."
            )
        keys, values = (self.words(count, draw) for _ in range(2))  # (N, word)
        column = np.ones((count, 1), np.int64)
        pairs = np.concatenate([keys, IS * column, values, SPACE * column], 1)  # (N, unit)
        spaces = draw.multinomial(room - pairs.size, [1 / count] * count)  # before each pair
        places = (np.arange(count) * self.unit + spaces.cumsum())[:, None] + np.arange(self.unit)
        body = np.full(room, SPACE)
        body[places] = pairs
        asked = draw.integers(count, size=self.queries)
        words = np.concatenate([keys[asked], values[asked]])
        tail = np.concatenate([np.full((len(words), 1), ASKS), words], 1).reshape(-1)
        whole = np.concatenate([body, tail])
        is_answer = np.arange(len(whole)) >= room + len(tail) // 2
        return whole[:-1], whole[1:], (is_answer & (whole != ASKS))[1:]

    def words(self, count: int, draw: Generator) -> np.ndarray:
        """Draw different words, (count, word)."""
        numbers = draw.choice(self.letters**self.word, count, replace=False)
        return LETTER + np.stack(np.unravel_index(numbers, (self.letters,) * self.word), 1)
