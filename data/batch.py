"""A training batch, and the DataLoader of a training, whose workers may make batches ahead of time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

if TYPE_CHECKING:
    from data.source import Source  # whose batches are of this type


@dataclass(frozen=True)
class Batch:
    """The only type that leaves this folder for training."""

    tokens: Tensor  # (B, T) int64
    targets: Tensor  # (B, T) int64, the next token (or the answer)
    mask: Tensor | None = None  # (B, T) bool, which targets count; None = all
    positions: Tensor | None = None  # (B, T) int64, given by the data; None: 0, 1, 2, ...

    def at(self, rows: slice) -> "Batch":
        """Return these rows of the batch."""
        return self.changed(lambda ids: ids[rows])

    def pin_memory(self) -> "Batch":
        """Return a copy in memory from which a GPU copies while it computes; DataLoader calls this."""
        return self.changed(Tensor.pin_memory)

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        mask, positions = (ids if ids is None else change(ids) for ids in (self.mask, self.positions))
        return Batch(change(self.tokens), change(self.targets), mask, positions)


def inputs_and_targets(sequences: Tensor) -> tuple[Tensor, Tensor]:
    """Return tokens and the next tokens, each (B, T), of sequences (B, T + 1)."""
    return sequences[:, :-1].contiguous(), sequences[:, 1:].contiguous()


@dataclass(frozen=True)
class Steps(Dataset[Batch]):
    """The batch of every step, or one process's part of it. A batch depends on its step alone."""

    source: "Source"
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
