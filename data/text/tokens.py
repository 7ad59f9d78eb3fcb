"""Text as token ids on the disk: two memory-mapped streams, one to train on and one held out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from conf.errors import UsageError
from data.batch import Batch, inputs_and_targets
from data.digest import of_json
from data.source import Source, Windows


@dataclass(frozen=True)
class Prepared:
    """The record of a folder of token ids."""

    name: str
    fingerprint: str  # of all token ids, the ends of held-out documents, and the tokenizer
    description: str
    vocab: int
    dtype: str
    mask_token: int  # in place of a masked token
    warning: str = ""  # what every run on it prints


class Text(Source):
    """Text in a folder that `data.text.prepare` wrote."""

    def __init__(self, folder: Path, prepared: Prepared, repeat: float = 0.0) -> None:
        self.folder, self.prepared, self.repeat = folder, prepared, repeat
        self.name, self.fingerprint = prepared.name, of_json([prepared.fingerprint, repeat])
        self.description, self.vocab = prepared.description, prepared.vocab
        self.mask_token, self.has_text = prepared.mask_token, True
        file = folder / "tokenizer.json"
        self.tokenizer = file if file.exists() else None
        self.training = map_file(folder / "training.bin", prepared.dtype)
        self.held_out = map_file(folder / "held_out.bin", prepared.dtype)
        self.bytes = map_file(folder / "held_out.bytes", "uint32")
        self.lengths = np.load(folder / "held_out_lengths.npy")  # tokens of each held-out document

    def __reduce__(self) -> tuple[type["Text"], tuple[Path, Prepared, float]]:
        """Let another process open the files, rather than send it their content."""
        return type(self), (self.folder, self.prepared, self.repeat)

    def passes(self, sequences: int, length: int) -> float:
        return sequences * length / len(self.training)

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        """Return random windows of the training stream, whose starts depend on (seed, step) alone."""
        room = len(self.training) - length
        if room < 1:
            raise UsageError(
                f"data={self.name} has {len(self.training):,} tokens to train on, fewer than one sequence of "
                f"{length:,}: lower model.length or give more text."
            )
        starts = np.random.default_rng([seed, step]).integers(0, room, size)[rank::world]
        window = self.training[starts[:, None] + np.arange(length + 1)]  # (B, T + 1)
        if self.repeat:
            for row, number in zip(window, range(rank, size, world), strict=True):
                repeat_spans(row, self.repeat, np.random.default_rng([seed, step, 1 + number]))
        return Batch(*inputs_and_targets(torch.from_numpy(window.astype(np.int64))))

    def windows(self, count: int, length: int) -> Windows:
        """Return a window of every document, then a second, and so on; windows do not overlap."""
        room = self.lengths // (length + 1)
        if not room.any():
            raise UsageError(
                f"The longest held-out document of data={self.name} has {self.lengths.max():,} tokens, "
                f"too few for a length of {length:,}: lower evaluation.lengths or give longer texts."
            )
        order = np.random.default_rng(0).permutation(len(room))
        chosen: list[int] = []
        for index in range(room.max()):
            if len(chosen) < count:
                chosen += order[room[order] > index].tolist()
        documents, counts = np.unique(chosen[:count], return_counts=True)
        begins = np.cumsum(self.lengths + 1) - (self.lengths + 1)  # a separator follows each document
        pairs = zip(documents, counts, strict=True)
        starts = [begins[d] + window_starts(self.lengths[d], length + 1, n) for d, n in pairs]
        places = np.concatenate(starts)[:, None] + np.arange(length + 1)
        return Windows(
            torch.from_numpy(self.held_out[places].astype(np.int64)),
            torch.from_numpy(np.repeat(documents, counts).astype(np.int64)),
            torch.from_numpy(self.bytes[places].astype(np.int64)),
        )


def repeat_spans(row: np.ndarray, spans: float, draw: np.random.Generator) -> None:
    """Repeat spans of a sixteenth to a quarter of a row (T + 1,) further on: models learn to look back sooner
    if it pays more often. A fractional number of spans is a probability."""
    length = len(row) - 1
    while spans > 0 and length >= 16:
        if draw.random() < spans:
            size = int(draw.integers(length // 16, length // 4 + 1))
            first = int(draw.integers(0, length + 2 - 2 * size))
            second = int(draw.integers(first + size, length + 2 - size))
            row[second : second + size] = row[first : first + size]
        spans -= 1


def window_starts(length: int, size: int, count: int) -> np.ndarray:
    """Return the starts of `count` windows of `size` tokens in a document, with equal gaps around them."""
    gap = (length - count * size) / (count + 1)
    return np.floor(gap * np.arange(1, count + 1)).astype(np.int64) + size * np.arange(count)


def map_file(file: Path, dtype: str) -> np.ndarray:
    """Return a file as an array that is read on access."""
    return np.memmap(file, dtype, "r").view(np.ndarray)
