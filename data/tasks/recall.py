"""Associative recall: the value that followed a key."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from conf.errors import UsageError
from data.digest import of_json
from data.tasks.base import END, HELD_OUT, Row, Sequences, draws, parameters


@dataclass(kw_only=True)
class Recall(Sequences):
    """Multi-query associative recall (Arora et al., 2023, https://arxiv.org/abs/2312.04927).

    First the pairs, each a key and its value; then each key once more, at a distance from the last pair that
    follows a power law, and its value is the target.

    Ids are as in the authors' code: 0, which separates documents elsewhere, then keys, then as many values;
    in the input a random token takes the place of the answer. Unlike in theirs, no random token is a key of
    the same sequence, so that a query has one answer even where ids are few.
    """

    of_tests: ClassVar = ("fill",)
    name: str
    symbols: int = 8192  # ids: keys are one half of them, values the other
    pairs: Annotated[list[int], Field(min_length=2, max_length=2)] = field(default_factory=lambda: [4, 8])
    power_a: float = 0.01  # 1: all distances equally likely; less: short ones more
    random_non_queries: bool = True  # false: id 0 where there is neither a pair nor a query
    fill: bool = False  # held-out sequences have a pair for every four tokens, not the most of training

    def __post_init__(self) -> None:
        low, high = self.pairs  # fewest and most in training
        if not 1 <= low <= high < self.symbols // 2:
            raise UsageError(
                f"data={self.name} needs pairs to be the fewest and the most of a sequence, below half of "
                f"symbols={self.symbols}, such as [4,8], not {self.pairs}."
            )
        self.vocab = self.symbols
        training = {key: value for key, value in parameters(self).items() if key not in self.of_tests}
        samples = [self.row(4 * high, high, draw)[0].tolist() for draw in draws(4, HELD_OUT)]
        self.fingerprint = of_json([type(self).__name__, training, samples])
        self.description = f"{self.name}: {low} to {high} pairs of {self.symbols:,} keys and values"

    def sequence(self, length: int, draw: Generator, is_training: bool) -> Row:
        low, high = self.pairs
        if is_training:
            return self.row(length, int(draw.integers(low, high + 1)), draw)
        return self.row(length, length // 4 if self.fill else high, draw)

    def row(self, length: int, pairs: int, draw: Generator) -> Row:
        """Return tokens, targets and the mask of answers of a sequence with so many pairs, each (length,)."""
        room = pairs if self.fill else self.pairs[1]  # for pairs
        if length % 2 or length < 4 * room or pairs >= self.symbols // 2:
            raise UsageError(
                f"data={self.name} has no sequence of {length} tokens: with {room} pairs it needs at least "
                f"{4 * room}, an even number, and more than {2 * room} symbols."
            )
        half, context = self.symbols // 2, 2 * pairs
        keys = 1 + draw.choice(half - 1, pairs, replace=False)
        values = half + draw.choice(self.symbols - half, pairs, replace=False)
        queries = context + 2 * self.gaps((length - context) // 2, pairs, draw)
        tokens = np.full(length, END, np.int64)
        if self.random_non_queries:
            others = np.delete(np.arange(1, self.symbols), keys - 1)
            tokens = others[draw.integers(len(others), size=length)]
        tokens[0:context:2], tokens[1:context:2], tokens[queries] = keys, values, keys
        targets = np.append(tokens[1:], END)
        targets[queries] = values
        mask = np.zeros(length, bool)
        mask[queries] = True
        return tokens, targets, mask

    def gaps(self, space: int, count: int, draw: Generator) -> np.ndarray:
        """Draw `count` distinct numbers below `space`, with odds (n + 1) ** (power_a - 1)."""
        odds = (self.power_a - 1) * np.log(np.arange(1, space + 1))
        return np.argsort(odds + draw.gumbel(size=space))[-count:]  # Gumbel's trick: one draw for all
