"""The batches of a training, which worker processes may make while the model computes."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from data.batch import Batch
from data.source import Source

Change = Callable[[Batch, int], Batch]  # of the batch of a step, such as masking; depends on both alone


@dataclass(frozen=True)
class Steps(Dataset[Batch]):
    """The batch of every step, or one process's part of it. A batch depends on its step alone."""

    source: Source
    length: int  # tokens of a sequence
    size: int  # sequences of a step, of all processes together
    seed: int
    rank: int = 0
    world: int = 1

    def __getitem__(self, step: int) -> Batch:
        return self.source.batch(step, self.length, self.size, self.seed, self.rank, self.world)


@dataclass(frozen=True)
class Changed(Dataset[Batch]):
    """The batches of other steps, each with a change."""

    steps: Dataset[Batch]
    change: Change

    def __getitem__(self, step: int) -> Batch:
        return self.change(self.steps[step], step)


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
