"""An evaluation that all processes of a run share, and what it costs."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from models.gpt import GPT
from train.machine import peak_memory, reset_peak_memory
from train.rows import Result
from train.signals import handle


class Evaluator(LightningModule):
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

    def batches(self, extension: str, mine: Tensor, size: int) -> Iterator[tuple[int, Tensor]]:
        """Some windows or problems, at most `size` at a time, and their draw: they take draws in turn."""
        draws = self.under(extension).draws
        for draw in range(draws):
            some = mine[mine % draws == draw]
            yield from ((draw, batch) for batch in some.split(size) if len(batch))

    def val_dataloader(self) -> Iterable[Any]:
        return Parts(self)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        return batch

    def on_validation_start(self) -> None:
        handle()

    @contextmanager
    def timed(self, extension: str, length: int, tokens: int) -> Iterator[None]:
        """What is done inside counts as the cost of evaluating `tokens` at this length."""
        cost, started = self.cost[extension, length], time.perf_counter()
        if not cost[0]:
            reset_peak_memory()
        yield
        cost += torch.tensor([tokens, time.perf_counter() - started, 0.0])
        cost[2] = torch.tensor(float(peak_memory() or 0)).maximum(cost[2])

    def reduce(self, table: dict[Any, Tensor]) -> None:
        """Each sum becomes that of all processes."""
        for key in table:
            total = self.trainer.strategy.reduce(table[key].to(self.device), reduce_op="sum")
            table[key] = cast(Tensor, total).cpu()

    def costs(self, protocol: str) -> Iterator[Result]:
        """Of the tokens that all lengths of a protocol were evaluated with."""
        for (extension, length), (tokens, seconds, peak) in self.cost.items():
            speed = float(tokens / seconds) * self.trainer.world_size
            yield Result(extension, protocol, length, "tokens_per_second", speed)
            yield Result(extension, protocol, length, "seconds", float(seconds))
            yield Result(extension, protocol, length, "peak_memory", float(peak) or None)


class Parts:
    """This process's parts; a list would be taken for several loaders."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def __iter__(self) -> Iterator[Any]:
        trainer = self.evaluator.trainer
        return self.evaluator.parts(trainer.global_rank, trainer.world_size)
