"""Text as token ids on the disk: two memory-mapped streams, one to train on and one held out."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from data.batch import Batch
from data.source import Windows


class Text:
    """The `Source` of a folder that `data.build` wrote."""

    metric = "loss"
    trained_length = None

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder = folder
        self.name: str = record["name"]
        self.fingerprint: str = record["fingerprint"]
        self.description: str = record["description"]
        self.vocab: int = record["vocab"]
        self.bytes_per_token: float | None = record["bytes_per_token"]
        self.training = mapped(folder / "training.bin", record["dtype"])
        self.held_out = mapped(folder / "held_out.bin", record["dtype"])
        self.lengths = np.load(folder / "held_out_lengths.npy")  # tokens of each held-out document

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        """Random windows of the training stream; (seed, step) alone chooses where they start."""
        room = len(self.training) - length
        if room < 1:
            raise ValueError(
                f"data={self.name} has {len(self.training):,} tokens to train on, fewer than one sequence of "
                f"{length:,}: lower model.length or give more text."
            )
        starts = np.random.default_rng([seed, step]).integers(0, room, size)[rank::world]
        window = self.training[starts[:, None] + np.arange(length + 1)]  # (B, T + 1)
        ids = torch.from_numpy(window.astype(np.int64))
        return Batch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous())

    def windows(self, count: int, length: int) -> Windows:
        """One window of every document, then a second one, ...; those of one document do not overlap."""
        room = self.lengths // (length + 1)
        if not room.any():
            raise ValueError(
                f"The longest held-out document of data={self.name} has {self.lengths.max():,} tokens, "
                f"too few for a length of {length:,}: lower evaluation.lengths or give longer texts."
            )
        order = np.random.default_rng(0).permutation(len(room))
        chosen: list[int] = []
        for turn in range(room.max()):
            if len(chosen) < count:
                chosen += order[room[order] > turn].tolist()
        documents, counts = np.unique(chosen[:count], return_counts=True)
        begins = np.cumsum(self.lengths + 1) - (self.lengths + 1)  # a separator follows each document
        starts = [
            begins[d] + spread(self.lengths[d], length + 1, n) for d, n in zip(documents, counts, strict=True)
        ]
        tokens = self.held_out[np.concatenate(starts)[:, None] + np.arange(length + 1)]
        return Windows(
            torch.from_numpy(tokens.astype(np.int64)),
            torch.from_numpy(np.repeat(documents, counts).astype(np.int64)),
        )

    def problems(self, count: int, length: int) -> None:
        """Text asks nothing."""


def spread(length: int, size: int, count: int) -> np.ndarray:
    """Where `count` windows of `size` tokens start in a document, with equal gaps around them."""
    gap = (length - count * size) / (count + 1)
    return np.floor(gap * np.arange(1, count + 1)).astype(np.int64) + size * np.arange(count)


def mapped(file: Path, dtype: str) -> np.ndarray:
    """A file as an array that is read where it is touched."""
    return np.memmap(file, dtype, "r").view(np.ndarray)
