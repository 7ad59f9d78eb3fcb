"""What every choice of data becomes, text or task."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from data.batch import Batch


@dataclass(frozen=True)
class Windows:
    """Held-out sequences, each inside one document."""

    tokens: Tensor  # (N, T + 1) int64
    document: Tensor  # (N,) int64, the number of the document that a window is from


class Source(Protocol):
    """Sequences to train on and held-out ones to evaluate on."""

    fingerprint: str  # sha256 of what the corpus holds and how it is split
    description: str  # one line for the report
    vocab: int  # every id is below it
    metric: str  # of a training run: `loss` for text
    bytes_per_token: float | None  # of the held-out text; None where there is no text

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        """The rows rank, rank + world, ... of the `size` sequences of a step.

        A function of its arguments alone: whatever was asked before, and whatever the model.
        """
        ...

    def windows(self, count: int, length: int) -> Windows:
        """At most `count` held-out windows over as many documents as possible, the same whatever the seed."""
        ...
