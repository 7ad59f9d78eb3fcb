"""The base of evaluations, which all processes of a run share, and their cost."""

import sys
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple, cast

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from conf.errors import UsageError
from train.errors import is_out_of_memory
from train.evaluation.model import Models
from train.results.rows import Result
from train.results.run_folder import OUT_OF_MEMORY
from train.runtime.machine import keep_memory, peak_memory, reset_peak_memory
from train.runtime.process import handle

CONTEXT = 1 << 30  # bytes that CUDA itself may take for a process, beside its tensors
EVERY = 30.0  # seconds between two lines of progress


class Key(NamedTuple):
    """The name of a result."""

    extension: str
    protocol: str
    length: int


@dataclass
class Cost:
    """The cost of an evaluation, for any number of processes."""

    tokens: float = 0.0  # of all processes
    seconds: float = 0.0  # of the process that takes longest
    peak: float = 0.0  # bytes, of the process that needs most
    is_full: bool = False  # whether memory ran out on any of them


def check_alone(error: Exception) -> None:
    """Raise UsageError if memory ran out on a GPU that other processes use: that is no result."""
    if isinstance(error, torch.OutOfMemoryError) and torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        others = total - free - torch.cuda.memory_reserved() - CONTEXT
        if others > 0:
            raise UsageError(
                f"The GPU's memory is full, and other processes hold {others / 1e9:,.1f} GB of it, so "
                "whether this length fits is not known: repeat the command alone on the GPU, with jobs=1."
            ) from error


class Evaluator(LightningModule):
    """An evaluation of a model under every extension: `parts` divides it among processes, `score` does a
    part. A subclass says in `cost` which results share its cost; every process has the same ones."""

    def __init__(self, models: Models) -> None:
        super().__init__()
        self.models = models
        self.modules_to_move = nn.ModuleList(cast(Iterable[nn.Module], models.values()))  # to the device
        self.cost: dict[Key, Cost] = {}
        self.printed = time.monotonic()

    def parts(self, rank: int, world: int) -> Iterator[Any]:
        """Yield this process's parts."""
        raise NotImplementedError

    def batches(self, extension: str, mine: Tensor, size: int) -> Iterator[tuple[int, Tensor]]:
        """Yield windows or problems, at most `size` at a time, with their draw: they take draws in turn."""
        draws = self.models[extension].draws
        for draw in range(draws):
            indices = mine[mine % draws == draw]
            yield from ((draw, batch) for batch in indices.split(size) if len(batch))

    def val_dataloader(self) -> Iterator[Any]:
        """Return this process's parts; Lightning would take a list for several loaders."""
        return self.parts(self.trainer.global_rank, self.trainer.world_size)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        return batch

    def on_validation_start(self) -> None:
        handle()

    def score(self, part: Any) -> None:
        """Do the work of `validation_step`."""
        raise NotImplementedError

    def attempt(self, part: Any, keys: Collection[Key], tokens: int) -> None:
        """Score a part of `tokens` tokens, and divide its cost equally among its keys. If memory runs out,
        parts that serve no other keys are left out from then on."""
        self.show_progress(keys)
        costs, started = [self.cost[key] for key in keys], time.perf_counter()
        if all(cost.is_full for cost in costs):
            return
        if not all(cost.tokens for cost in costs):
            reset_peak_memory()
        keep_memory(max(key.length for key in keys))
        try:
            self.score(part)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            check_alone(error)
            for cost in costs:
                cost.is_full = True
            return
        for cost in costs:
            cost.tokens += tokens / len(costs)
            cost.seconds += (time.perf_counter() - started) / len(costs)
            cost.peak = max(cost.peak, peak_memory() or 0)

    def show_progress(self, keys: Collection[Key]) -> None:
        """Print the current length now and then."""
        if time.monotonic() - self.printed > EVERY and self.trainer.is_global_zero:
            self.printed = time.monotonic()
            key = max(keys, key=lambda key: key.length)
            print(f"Evaluating at length {key.length:,}, extension={key.extension}", flush=True)

    def full(self) -> list[tuple[str, int]]:
        """Return the extensions and lengths at which memory ran out, on any process."""
        places = ((key.extension, key.length) for key, cost in self.cost.items() if cost.is_full)
        return list(dict.fromkeys(places))

    def on_validation_end(self) -> None:
        for cost in self.cost.values():
            tokens, *others = (float(value) for value in astuple(cost))
            cost.tokens = float(self.all_reduce(torch.tensor(tokens), "sum"))
            cost.seconds, cost.peak, is_full = self.all_reduce(torch.tensor(others), "max").tolist()
            cost.is_full = bool(is_full)
        if self.full() and self.trainer.is_global_zero:
            places = ", ".join(f"{length} (extension={name})" for name, length in self.full())
            print(
                f"yardstick: Out of memory at length {places}, so there are no results. Lower "
                "evaluation.tokens and repeat the command.",
                file=sys.stderr,
                flush=True,
            )

    def reduce(self, table: dict[Any, Tensor]) -> None:
        """Replace each sum by that over all processes."""
        for key in table:
            table[key] = self.all_reduce(table[key], "sum")

    def all_reduce(self, value: Tensor, operation: str) -> Tensor:
        """Return the sum or the maximum over all processes. MPS has one process, and no float64."""
        if self.trainer.world_size == 1:
            return value
        return cast(Tensor, self.trainer.strategy.reduce(value.to(self.device), reduce_op=operation)).cpu()

    def costs(self) -> Iterator[Result]:
        """Yield the cost of each length of each protocol."""
        for key, cost in self.cost.items():
            if cost.is_full:
                yield Result(*key, OUT_OF_MEMORY, 1.0)
                continue
            yield Result(*key, "tokens_per_second", cost.tokens / cost.seconds if cost.seconds else None)
            yield Result(*key, "seconds", cost.seconds)
            yield Result(*key, "peak_memory", cost.peak or None)
