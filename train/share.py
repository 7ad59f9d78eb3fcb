"""What one process evaluates of what all evaluate together."""

from collections.abc import Iterator
from typing import Any, Protocol

from lightning.pytorch import Trainer


class Shared(Protocol):
    """An evaluation that knows the parts of each process."""

    trainer: Trainer

    def parts(self, rank: int, world: int) -> Iterator[Any]: ...


class Share:
    """This process's parts; a list would be taken for several loaders."""

    def __init__(self, of: Shared) -> None:
        self.of = of

    def __iter__(self) -> Iterator[Any]:
        return self.of.parts(self.of.trainer.global_rank, self.of.trainer.world_size)
