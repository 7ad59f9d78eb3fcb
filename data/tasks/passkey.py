"""Retrieval of keys that are hidden in text."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

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
from data.tasks.base import HELD_OUT, TRAINING, draws, parameters, stack_rows

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the text before what is hidden, in held-out problems


@dataclass(frozen=True, kw_only=True)
class Passkey(Data):
    """Passkey retrieval (Mohtashami and Jaggi, 2023, https://arxiv.org/abs/2305.16300), for small models.

    text, marker, key, text, marker, and the key must follow. There are no instructions: the marker and the
    symbols of keys have ids of their own, after those of the text. No symbol occurs twice in a key, so that
    its successor is unambiguous. Lengths count tokens; in training it is model.length.

    With several `needles` each has a name, a symbol after its marker, and `queries` of them are asked for by
    their names: one (the others are distractors) up to all. With `one_name` those that are asked for share
    a name, which is asked for once, and their keys follow in the order of the text. These are the forms of
    RULER (Hsieh et al., 2024, https://arxiv.org/abs/2404.06654): several keys, queries and values.
    """

    name: str
    text: Data  # which is text
    key: Annotated[int, Field(ge=1)] = 5  # tokens
    symbols: int = 64  # that keys are made of
    needles: Annotated[int, Field(ge=1)] = 1
    queries: Annotated[int, Field(ge=1)] = 1
    one_name: bool = False

    def __post_init__(self) -> None:
        if 2 * self.key > self.symbols:
            raise UsageError(
                f"data={self.name} needs key to be at most {self.symbols // 2}, half of "
                f"symbols={self.symbols}, not {self.key}, so that there is another key of other symbols."
            )
        if not self.queries <= self.needles <= self.symbols:
            raise UsageError(
                f"data={self.name} needs queries={self.queries} to be at most needles={self.needles}, and "
                f"needles to be at most symbols={self.symbols}."
            )

    def open(self, vocab: int, cache: Path) -> "Haystack":
        return Haystack(self, self.text.open(vocab - 1 - self.symbols, cache))


class Needles(NamedTuple):
    """The needles of a number of texts."""

    keys: Tensor  # (B, N, key) ids
    others: Tensor  # (B, N, key) ids, keys that share no symbol with them
    depth: Tensor  # (B, N) float32, the share of the text before them
    names: Tensor  # (B, N, 0 or 1) ids


class Haystack(Source):
    """Keys that are hidden in a text, which is not modelled: it distracts, only the keys are scored."""

    def __init__(self, settings: Passkey, text: Source) -> None:
        self.name, self.settings, self.text = settings.name, settings, text
        self.marker = text.vocab  # the first symbol is the next id
        self.vocab = text.vocab + 1 + settings.symbols
        forms = () if settings.needles > 1 else ("needles", "queries", "one_name")
        known = {key: value for key, value in parameters(settings).items() if key not in forms}
        sample = self.needles(draws(4, HELD_OUT))
        keys = torch.cat([sample.keys, sample.others], 2).squeeze(1).tolist()
        self.fingerprint = of_json(["Passkey", known | {"text": text.fingerprint}, keys])
        several = f"{settings.queries} of {settings.needles} " if settings.needles > 1 else ""
        self.description = (
            f"{self.name}: {several}keys of {settings.key} out of {settings.symbols} symbols, hidden in "
            f"{text.description}"
        )

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        """Return texts with keys at any depth."""
        text = self.text.batch(step, self.room(length), size, seed, rank, world).tokens
        rows = draws(size, TRAINING, seed, step, rank=rank, world=world)
        return Batch(*self.hide(text, self.needles(rows)))

    def problems(self, count: int, length: int) -> Problems:
        """Return texts with the first key at every depth, the same keys at every length; texts may recur."""
        group, depth = at_each_depth(count)
        groups = int(group[-1]) + 1
        windows = self.text.windows(groups, self.room(length))
        assert windows is not None
        window = group % len(windows.tokens)
        needles = Needles(*(part[group] for part in self.needles(draws(groups, HELD_OUT))))
        needles.depth[:, 0] = depth
        tokens, targets, mask = self.hide(windows.tokens[window, :-1], needles)
        wrong = targets.clone()
        wrong[mask] = needles.others[:, : self.settings.queries].flatten()
        return Problems(tokens, targets, mask, depth, wrong, windows.document[window])

    def passes(self, sequences: int, length: int) -> float | None:
        return self.text.passes(sequences, self.room(length))

    def room(self, length: int) -> int:
        """Return the number of text tokens in a sequence of `length` tokens and its last target."""
        settings = self.settings
        head = 2 if settings.needles > 1 else 1  # marker and name
        needed = settings.needles * (head + settings.key) + settings.queries * settings.key
        needed += head * (1 if settings.one_name else settings.queries)
        if length < needed:
            raise UsageError(
                f"data={self.name} has no sequence of {length} tokens: with a key of {settings.key} it needs "
                f"at least {needed}."
            )
        return length + 1 - needed

    def needles(self, rows: Iterator[Generator]) -> Needles:
        """Draw the needles of each row."""
        count, key, symbols = self.settings.needles, self.settings.key, self.settings.symbols
        keys, depth, names = stack_rows(
            (
                np.stack([draw.choice(symbols, 2 * key, replace=False) for _ in range(count)]),
                draw.random(count),
                draw.choice(symbols, count, replace=False)[:, None],
            )
            for draw in rows
        )
        first = self.marker + 1
        names = names[..., : int(count > 1)] + first
        if self.settings.one_name:
            names[:, : self.settings.queries] = names[:, :1].clone()
        keys, others = (keys + first).split(key, 2)
        return Needles(keys, others, depth.float(), names)

    def hide(self, text: Tensor, needles: Needles) -> tuple[Tensor, Tensor, Tensor]:
        """Return tokens, targets and the mask of answers, each (B, length), of text (B, room)."""
        queries, depth = self.settings.queries, needles.depth.clone()
        marker = torch.full_like(needles.keys[..., :1], self.marker)
        marked = torch.cat([marker, needles.names, needles.keys], 2)  # (B, N, K)
        is_key = torch.arange(marked.size(2)) >= marked.size(2) - self.settings.key
        end, is_answer = marked[:, :queries].flatten(1), is_key.repeat(queries)
        if self.settings.one_name:
            depth[:, :queries] = depth[:, :queries].sort(1).values
            is_kept = is_answer | (torch.arange(len(is_answer)) < marked.size(2))
            end, is_answer = end[:, is_kept], is_answer[is_kept]
        start = (depth * text.size(1)).round().long()  # (B, N)
        rows = torch.arange(len(text))[:, None]
        for number in (start * start.size(1) + torch.arange(start.size(1))).argsort(1, descending=True).T:
            text = insert(text, marked[rows, number[:, None]][:, 0], start[rows, number[:, None]])
        tokens, targets, mask = answer_targets(text, end, end.size(1))
        mask[:, -len(is_answer) :] = is_answer
        return tokens, targets, mask


def at_each_depth(count: int) -> tuple[Tensor, Tensor]:
    """Return the number (N,) of the text and the depth (N,) of each problem: each text at every depth."""
    row = torch.arange(count)
    return row // len(DEPTHS), torch.tensor(DEPTHS)[row % len(DEPTHS)]


def insert(text: Tensor, needle: Tensor, start: Tensor) -> Tensor:
    """Insert needles (N, K) into text (N, T), each at its `start` (N, 1); return (N, T + K)."""
    place = torch.arange(text.size(1) + needle.size(1))
    inside = (place >= start) & (place < start + needle.size(1))
    whole = text.new_empty(inside.shape)
    whole[inside], whole[~inside] = needle.flatten(), text.flatten()
    return whole


def answer_targets(body: Tensor, end: Tensor, answer: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, targets and the mask of answers, each (N, T): the last `answer` tokens are predicted."""
    tokens, targets = inputs_and_targets(torch.cat([body, end], 1))
    mask = torch.zeros(targets.shape, dtype=torch.bool)
    mask[:, -answer:] = True
    return tokens, targets, mask
