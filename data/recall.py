"""Associative recall: the value that followed a key."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from data.batch import Batch
from data.source import Problems
from data.task import END, HELD_OUT, TRAINING, check_vocab, digest, draws, parameters


@dataclass(kw_only=True)
class Recall:
    """Multi-query associative recall (Arora et al., 2023, https://arxiv.org/abs/2312.04927).

    First the pairs, each a key and its value; then each key once more, at a distance from the last pair that
    follows a power law, and its value is the target. Lengths count tokens; in training it is the model's.

    Ids are as in the authors' code: 0, which separates documents elsewhere, then keys, then as many values; a
    random token takes the place of the answer in the input. But no random token is a key of the same
    sequence, so that a query has one answer even if there are few ids.
    """

    name: str
    symbols: int = 8192  # ids: keys are one half of them, values the other
    pairs: list[int] = field(default_factory=lambda: [4, 8])  # fewest and most in training; most held out
    power_a: float = 0.01  # 1: all distances equally likely; less: short ones more
    random_non_queries: bool = True  # false: id 0 where there is neither a pair nor a query

    metric = "accuracy"
    bytes_per_token = None
    trained_length = None

    def __post_init__(self) -> None:
        match self.pairs:
            case [int(low), int(high)] if 1 <= low <= high < self.symbols // 2:
                pass
            case _:
                raise ValueError(
                    f"The pairs of data={self.name} are {self.pairs}, but must be two whole numbers, the "
                    f"fewest and the most of a sequence, below half of symbols={self.symbols}, such as [4,8]."
                )
        self.vocab = self.symbols
        samples = [self.sequence(4 * high, high, draw)[0].tolist() for draw in draws(4, HELD_OUT)]
        self.fingerprint = digest(type(self).__name__, parameters(self), samples)
        self.description = f"{self.name}: {low} to {high} pairs of {self.symbols:,} keys and values"

    def open(self, vocab: int, cache: Path) -> "Recall":
        check_vocab(vocab, self.vocab, self.name)
        return self

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        low, high = self.pairs
        rows = draws(size, TRAINING, seed, step, rank=rank, world=world)
        made = [self.sequence(length, int(draw.integers(low, high + 1)), draw) for draw in rows]
        tokens, targets, mask = stacked(made)
        return Batch(tokens, targets, mask)

    def windows(self, count: int, length: int) -> None:
        """There is no text."""

    def problems(self, count: int, length: int) -> Problems:
        made = [self.sequence(length, self.pairs[1], draw) for draw in draws(count, HELD_OUT, length)]
        return Problems(*stacked(made))

    def sequence(self, length: int, pairs: int, draw: Generator) -> tuple[np.ndarray, ...]:
        """Tokens, targets and the mask of answers, each (length,)."""
        if length % 2 or length < 4 * self.pairs[1]:
            raise ValueError(
                f"data={self.name} has no sequence of {length} tokens: with {self.pairs[1]} pairs it needs "
                f"at least {4 * self.pairs[1]}, and an even number of them."
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
        """Different numbers below `space`, where n has the odds (n + 1) ** (power_a - 1)."""
        odds = (self.power_a - 1) * np.log(np.arange(1, space + 1))
        return np.argsort(odds + draw.gumbel(size=space))[-count:]  # Gumbel's trick: one draw for all of them


def stacked(rows: list[tuple[np.ndarray, ...]]) -> list[Tensor]:
    return [torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True)]
