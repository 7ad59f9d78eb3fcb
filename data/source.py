"""The interface of every choice of data, whether text or task, and the DataLoader of its batches."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from data.batch import Batch


@dataclass(frozen=True)
class Windows:
    """Held-out sequences, each inside one document."""

    tokens: Tensor  # (N, T + 1) int64
    document: Tensor  # (N,) int64, the number of the document that a window is from
    sizes: Tensor  # (N, T + 1) int64, the bytes of text that each token stands for


@dataclass(frozen=True)
class Problems:
    """Held-out problems of one length, with the tokens of their answers marked."""

    tokens: Tensor  # (N, T) int64
    targets: Tensor  # (N, T) int64, the next token
    mask: Tensor  # (N, T) bool, the targets that are the answer
    depth: Tensor | None = None  # (N,) float32, where the answer is hidden: 0 the start, 1 the end
    wrong: Tensor | None = None  # (N, T) int64, targets with another, equally likely answer
    document: Tensor | None = None  # (N,) int64, the text that a problem is in; None: each stands alone
    positions: Tensor | None = None  # (N, T) int64, given by the data; None: 0, 1, 2, ...


class ProblemSource(Protocol):
    """Held-out problems."""

    def problems(self, count: int, length: int) -> Problems | None: ...


class Source:
    """The interface of all data: sequences to train on, and held-out ones. By default there is no text."""

    name: str
    fingerprint: str  # sha256 of what the corpus holds and how it is split
    description: str  # one line for the report
    vocab: int  # every id is below it
    mask_token: int = 0  # the id in place of a masked token; tasks begin their ids after it
    has_text: bool = False  # whether there is text to be modelled
    tokenizer: Path | None = None  # its tokenizer.json
    trained_length: int | None = None  # longest training problem, as the task counts; None: model.length

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        """Return the rows rank, rank + world, ... of the `size` sequences of a step.

        They depend on the arguments alone, and not on earlier calls or on the model.
        """
        raise NotImplementedError

    def passes(self, sequences: int, length: int) -> float | None:
        """Return how often `sequences` of training read the training text; None if there is no text."""
        return None

    def windows(self, count: int, length: int) -> Windows | None:
        """Return `count` held-out windows of most documents, the same for every seed; None without text."""
        return None

    def problems(self, count: int, length: int) -> Problems | None:
        """Return `count` held-out problems of a length, the same for every seed; None if there are none."""
        return None


@dataclass(frozen=True)
class Steps(Dataset[Batch]):
    """The batch of every step, or one process's part of it. A batch depends on its step alone."""

    source: Source
    length: int  # tokens of a sequence
    size: int  # sequences of a step, of all processes together
    seed: int
    rank: int = 0
    world: int = 1
    objective: Callable[[Batch, int], Batch] | None = None  # changes the batch of a step, as masking does

    def __getitem__(self, step: int) -> Batch:
        batch = self.source.batch(step, self.length, self.size, self.seed, self.rank, self.world)
        return batch if self.objective is None else self.objective(batch, step)


def batch_loader(batches: Dataset[Batch], steps: range | Sampler[int], workers: int = 0) -> DataLoader[Batch]:
    """Return the batches of these steps in order.

    `workers` processes make them ahead of time; with 0 this process makes them when they are needed. Both
    give the same batches. If there is a CUDA device, they lie in pinned memory.
    """
    return DataLoader(
        batches,
        batch_size=None,  # a step is one item
        sampler=steps,
        num_workers=workers,
        pin_memory=torch.cuda.is_available(),
    )
