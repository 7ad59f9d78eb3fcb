"""Retrieval of a key that is hidden in text."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from conf.errors import UsageError
from data import load
from data.batch import Batch, inputs_and_targets
from data.digest import of_json
from data.source import Problems, Source, VocabularyTooSmallError
from data.tasks.base import HELD_OUT, TRAINING, draws, parameters

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the text before what is hidden, in held-out problems


@dataclass(frozen=True, kw_only=True)
class Passkey:
    """Passkey retrieval (Mohtashami and Jaggi, 2023, https://arxiv.org/abs/2305.16300), for small models.

    text, marker, key, text, marker, and the key must follow. There are no instructions: the marker and the
    symbols of keys have ids of their own, after those of the text. No symbol occurs twice in a key, so that
    its successor is unambiguous. Lengths count tokens; in training it is model.length.
    """

    name: str
    text: dict[str, Any]  # the settings of some data that is text
    key: int = 5  # tokens
    symbols: int = 64  # that keys are made of

    def __post_init__(self) -> None:
        if not 1 <= self.key <= self.symbols // 2:
            raise UsageError(
                f"data={self.name} needs key to be 1 to {self.symbols // 2}, half of symbols={self.symbols}, "
                f"not {self.key}, so that there is another key of other symbols."
            )

    def open(self, vocab: int, cache: Path) -> "Haystack":
        return Haystack(self, load_with_reserved_ids(self.text, vocab, 1 + self.symbols, self.name, cache))


class Haystack(Source):
    """Keys that are hidden in a text, which is not modelled: it distracts, only the key is scored."""

    def __init__(self, settings: Passkey, text: Source) -> None:
        self.name, self.key, self.symbols, self.text = settings.name, settings.key, settings.symbols, text
        self.marker = text.vocab  # the first symbol is the next id
        self.vocab = text.vocab + 1 + settings.symbols
        known = parameters(settings) | {"text": text.fingerprint}
        self.fingerprint = of_json(["Passkey", known, self.keys(draws(4, HELD_OUT)).tolist()])
        self.description = (
            f"{self.name}: keys of {self.key} out of {self.symbols} symbols, hidden in {text.description}"
        )

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        """Return texts with keys at any depth."""
        text = self.text.batch(step, self.room(length), size, seed, rank, world).tokens
        rows = list(draws(size, TRAINING, seed, step, rank=rank, world=world))
        keys = self.keys(rows)[:, : self.key]
        return Batch(*self.hide(text, keys, torch.tensor([draw.random() for draw in rows])))

    def problems(self, count: int, length: int) -> Problems:
        """Return texts with keys at every depth. If texts are too few, they recur with other keys. Keys are
        the same at every length."""
        group, depth = at_each_depth(count)
        groups = int(group[-1]) + 1
        windows = self.text.windows(groups, self.room(length))
        assert windows is not None
        window = group % len(windows.tokens)
        keys, others = self.keys(draws(groups, HELD_OUT))[group].split(self.key, 1)
        tokens, targets, mask = self.hide(windows.tokens[window, :-1], keys, depth)
        wrong = torch.cat([targets[:, : -self.key], others], 1)
        return Problems(tokens, targets, mask, depth, wrong, windows.document[window])

    def passes(self, sequences: int, length: int) -> float | None:
        return self.text.passes(sequences, self.room(length))

    def room(self, length: int) -> int:
        """Return the number of text tokens in a sequence of `length` tokens and its last target."""
        room = length + 1 - 2 * (1 + self.key)
        if room < 1:
            raise UsageError(
                f"data={self.name} has no sequence of {length} tokens: with a key of {self.key} it needs at "
                f"least {2 * (1 + self.key)}."
            )
        return room

    def keys(self, rows: Iterable[Generator]) -> Tensor:
        """Draw a key for each row, and another one that shares no symbol with it: (N, 2 key)."""
        symbols = [draw.choice(self.symbols, 2 * self.key, replace=False) for draw in rows]
        return torch.from_numpy(np.stack(symbols)) + self.marker + 1

    def hide(self, text: Tensor, keys: Tensor, depth: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Hide keys (N, key) in text (N, room) at depths (N,); return tokens, targets and the mask of
        answers, each (N, length)."""
        marked = torch.cat([torch.full_like(keys[:, :1], self.marker), keys], 1)
        start = (depth * text.size(1)).round().long()[:, None]
        return answer_targets(insert(text, marked, start), marked, self.key)


def at_each_depth(count: int) -> tuple[Tensor, Tensor]:
    """Return the text number (N,) and the depth (N,) of each problem: each text comes at every depth in turn,
    so that depths differ in nothing else."""
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


def load_with_reserved_ids(
    settings: dict[str, Any], vocab: int, reserved: int, name: str, cache: Path
) -> Source:
    """Return the data of these settings, for a model that reserves some of its ids for a task."""
    try:
        return load(settings, vocab - reserved, cache)
    except VocabularyTooSmallError as error:
        raise VocabularyTooSmallError(
            f"model.vocab={vocab} is too small for data={name}, which needs {reserved} ids beside those of "
            f"{settings['name']}: add {reserved} to model.vocab."
        ) from error
