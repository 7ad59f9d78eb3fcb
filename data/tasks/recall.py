"""Associative recall: the value that followed a key."""

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from conf.errors import UsageError
from data.batch import Batch
from data.digest import of_json
from data.source import Problems
from data.tasks.base import END, HELD_OUT, TRAINING, Generated, draws, parameters, stack_rows


@dataclass(kw_only=True)
class Recall(Generated):
    """Multi-query associative recall (Arora et al., 2023, https://arxiv.org/abs/2312.04927).

    First the pairs, each a key and its value; then each key once more, at a distance from the last pair that
    follows a power law, and its value is the target. Lengths count tokens; in training it is model.length.

    Ids are as in the authors' code: 0, which separates documents elsewhere, then keys, then as many values;
    in the input a random token takes the place of the answer. Unlike in theirs, no random token is a key of
    the same sequence, so that a query has one answer even where ids are few.
    """

    name: str
    symbols: int = 8192  # ids: keys are one half of them, values the other
    pairs: list[int] = field(default_factory=lambda: [4, 8])  # fewest and most in training; most held out
    power_a: float = 0.01  # 1: all distances equally likely; less: short ones more
    random_non_queries: bool = True  # false: id 0 where there is neither a pair nor a query

    def __post_init__(self) -> None:
        match self.pairs:
            case [int(low), int(high)] if 1 <= low <= high < self.symbols // 2:
                pass
            case _:
                raise UsageError(
                    f"data={self.name} needs pairs to be two whole numbers, the fewest and the most of a "
                    f"sequence, below half of symbols={self.symbols}, such as [4,8], not {self.pairs}."
                )
        self.vocab = self.symbols
        samples = [self.sequence(4 * high, high, draw)[0].tolist() for draw in draws(4, HELD_OUT)]
        self.fingerprint = of_json([type(self).__name__, parameters(self), samples])
        self.description = f"{self.name}: {low} to {high} pairs of {self.symbols:,} keys and values"

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        def random_sequence(draw: Generator) -> tuple[np.ndarray, ...]:
            return self.sequence(length, int(draw.integers(self.pairs[0], self.pairs[1] + 1)), draw)

        rows = draws(size, TRAINING, seed, step, rank=rank, world=world)
        tokens, targets, mask = stack_rows(map(random_sequence, rows))
        return Batch(tokens, targets, mask)

    def problems(self, count: int, length: int) -> Problems:
        rows = draws(count, HELD_OUT, length)
        return Problems(*stack_rows(self.sequence(length, self.pairs[1], draw) for draw in rows))

    def sequence(self, length: int, pairs: int, draw: Generator) -> tuple[np.ndarray, ...]:
        """Return tokens, targets and the mask of answers, each (length,)."""
        if length % 2 or length < 4 * self.pairs[1]:
            raise UsageError(
                f"data={self.name} has no sequence of {length} tokens: with {self.pairs[1]} pairs it needs "
                f"at least {4 * self.pairs[1]}, and an even number."
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
