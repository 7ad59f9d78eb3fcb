"""An evaluation that all processes of a run do together, each its share; and what it costs."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from models.gpt import GPT
from train.precision import forget_peak, peak_memory

Result = tuple[str, str, int, str, float | None, float | None, int]
"""Extension, protocol, length, metric; mean, standard error, number of documents."""


class Shared(LightningModule):
    """One model under every extension. `parts` says what a process evaluates, `validation_step` does one."""

    def __init__(self, models: dict[str, GPT]) -> None:
        super().__init__()
        self.names = list(models)
        self.models = nn.ModuleList(models.values())
        self.cost: dict[Any, Tensor] = defaultdict(lambda: torch.zeros(3, dtype=torch.float64))

    def parts(self, rank: int, world: int) -> Iterator[Any]:
        """This process's share; every process goes through the same keys in the same order."""
        raise NotImplementedError

    def under(self, extension: str) -> GPT:
        return cast(GPT, self.models[self.names.index(extension)])

    def val_dataloader(self) -> Iterable[Any]:
        return Share(self)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        return batch

    @contextmanager
    def measured(self, extension: str, length: int, tokens: int) -> Iterator[None]:
        """What is done inside counts as the cost of evaluating `tokens` at this length."""
        cost, started = self.cost[extension, length], time.perf_counter()
        if not cost[0]:
            forget_peak()
        yield
        cost += torch.tensor([tokens, time.perf_counter() - started, 0.0])
        cost[2] = torch.tensor(float(peak_memory() or 0)).maximum(cost[2])

    def added(self, table: dict[Any, Tensor]) -> None:
        """Each sum becomes that of all processes."""
        for key in table:
            total = self.trainer.strategy.reduce(table[key].to(self.device), reduce_op="sum")
            table[key] = cast(Tensor, total).cpu()

    def costs(self, protocol: str) -> Iterator[Result]:
        """Of the tokens that all lengths of a protocol were evaluated with."""
        for (extension, length), (tokens, seconds, peak) in self.cost.items():
            speed = float(tokens / seconds) * self.trainer.world_size
            found = {
                "tokens_per_second": speed,
                "seconds": float(seconds),
                "peak_memory": float(peak) or None,
            }
            for metric, value in found.items():
                yield extension, protocol, length, metric, value, None, 0


class Share:
    """This process's parts; a list would be taken for several loaders."""

    def __init__(self, of: Shared) -> None:
        self.of = of

    def __iter__(self) -> Iterator[Any]:
        return self.of.parts(self.of.trainer.global_rank, self.of.trainer.world_size)
