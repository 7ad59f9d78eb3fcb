"""An evaluation that all processes of a run share, and what it costs."""

import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from models.gpt import GPT
from train.errors import is_out_of_memory
from train.results.rows import OUT_OF_MEMORY, Result
from train.runtime.machine import peak_memory, reset_peak_memory
from train.runtime.signals import handle

Key = tuple[str, int]  # extension, length
EVERY = 30.0  # seconds
FULL = 3  # of a cost: tokens, seconds, bytes, whether memory ran out


class Evaluator(LightningModule):
    """One model under every extension. `parts` says what a process evaluates, `validation_step` does one."""

    def __init__(self, models: dict[str, GPT]) -> None:
        super().__init__()
        self.names = list(models)
        self.models = nn.ModuleList(models.values())
        self.cost: dict[Key, Tensor] = defaultdict(lambda: torch.zeros(4, dtype=torch.float64))
        self.told = time.monotonic()

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

    def score(self, part: Any) -> None:
        """What `validation_step` does."""
        raise NotImplementedError

    def attempt(self, part: Any, keys: Collection[Key], tokens: int) -> None:
        """Score a part, which has so many tokens, and count what it costs, in equal shares for all that it is
        part of; where there is no room for it, the rest is left out."""
        self.tell(keys)
        costs, started = [self.cost[key] for key in keys], time.perf_counter()
        if any(cost[FULL] for cost in costs):
            return
        if not all(cost[0] for cost in costs):
            reset_peak_memory()
        try:
            self.score(part)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            for cost in costs:
                cost[FULL] = 1
            return
        for cost in costs:
            seconds = time.perf_counter() - started
            cost += torch.tensor([tokens, seconds, 0.0, 0.0]) / len(costs)
            cost[2] = torch.tensor(float(peak_memory() or 0)).maximum(cost[2])

    def tell(self, keys: Collection[Key]) -> None:
        """Now and then a line about where it is, where no bar shows it."""
        if time.monotonic() - self.told > EVERY and self.trainer.is_global_zero and not sys.stdout.isatty():
            self.told = time.monotonic()
            extension, length = max(keys, key=lambda key: key[1])
            print(f"Evaluating at length {length:,}, extension={extension}", flush=True)

    def full(self) -> list[Key]:
        """Where memory ran out, on any of the processes."""
        return [key for key, cost in self.cost.items() if cost[FULL]]

    def on_validation_end(self) -> None:
        self.reduce(self.cost)
        if self.full() and self.trainer.is_global_zero:
            places = ", ".join(f"{length} (extension={name})" for name, length in self.full())
            print(
                f"yardstick: Memory ran out at length {places}: there are no numbers of it. The same command "
                "tries again; evaluation.tokens, if lower, needs less.",
                file=sys.stderr,
                flush=True,
            )

    def reduce(self, table: dict[Any, Tensor]) -> None:
        """Each sum becomes that of all processes."""
        for key in table:
            total = self.trainer.strategy.reduce(table[key].to(self.device), reduce_op="sum")
            table[key] = cast(Tensor, total).cpu()

    def costs(self, protocol: str) -> Iterator[Result]:
        """Of the tokens that all lengths of a protocol were evaluated with."""
        for (extension, length), (tokens, seconds, peak, full) in self.cost.items():
            if full:
                yield Result(extension, protocol, length, OUT_OF_MEMORY, 1.0)
                continue
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
