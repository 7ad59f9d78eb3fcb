"""The cost of a sweep on many GPUs, estimated before you pay:

python -m sweeps.plan sweeps=encodings_gpu gpus=64 throughput=400000
"""

import heapq
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Annotated

from pydantic import Field

from conf.errors import UsageError
from models.bounds import Share
from sweeps import command
from train.config.compose import dotted, sweep_settings
from train.config.schema import Config
from train.config.validation import Natural, Quantity, Section
from train.results.rows import ONCE, read_rows

POINT = 3  # values that a logged step has
WEIGHT, RESUMABLE = 4, 12  # bytes of a parameter; with AdamW's two moments
GROUPS = {"controls": 2, "all": 22}  # extensions, at most
KEPT = 2  # states of a run: the last one, and the next while it is written


class Assumptions(Section):
    """Assumptions beside the file of the sweep."""

    gpus: Natural
    throughput: Quantity | None = None  # tokens per second and GPU in training; null: from `efficiency`
    results: str | None = None  # a folder of runs whose measured rates count, each encoding's own
    cells: Natural | None = None  # in place of as many as the sweep has
    efficiency: Annotated[Share, Field(gt=0)] = 0.3  # of the peak
    peak: Quantity = 989.0  # TFLOP/s: an H100 in bfloat16
    price: Quantity = 2.5  # dollars per GPU-hour
    start: Quantity = 120.0  # seconds until a run computes


@dataclass(frozen=True)
class Work:
    """The work of one run of a sweep, by its settings."""

    config: Config

    @property
    def parameters(self) -> int:
        model = self.config.model
        return model.vocab * model.width * (1 if model.tied else 2) + 12 * model.depth * model.width**2

    @property
    def tokens(self) -> int:
        """Trained on."""
        return self.config.batch * self.config.model.length * self.config.trainer.max_steps

    @property
    def lengths(self) -> list[int]:
        return self.config.evaluation.at(self.config.model.length)

    @property
    def passes(self) -> int:
        """The evaluations of a length: by each protocol, under no extension and under each."""
        asked, protocols = self.config.evaluation.extensions, self.config.evaluation.protocols
        count = GROUPS[asked] if isinstance(asked, str) else len(asked)
        return (1 + count) * max(1, len(protocols))

    def operations(self, length: int) -> float:
        """Return the operations of a token forward, which sees half of `length` keys on average; backward
        takes twice as many."""
        return 2 * self.parameters + 2 * self.config.model.depth * self.config.model.width * length

    @property
    def evaluated(self) -> float:
        """The evaluation, as so many tokens more to train on."""
        forward = sum(length * self.operations(length) for length in self.lengths)
        windows = self.config.evaluation.windows * self.passes
        return windows * forward / (3 * self.operations(self.config.model.length))

    @property
    def points(self) -> int:
        """Values that W&B is sent."""
        logged = self.config.trainer.max_steps // self.config.trainer.log_every
        return POINT * logged + len(self.lengths) * self.passes

    @property
    def gpus(self) -> int:
        devices = self.config.trainer.devices
        return self.config.trainer.num_nodes * (devices if isinstance(devices, int) and devices > 0 else 1)


def rates(work: Work, names: Sequence[str], given: Assumptions) -> Iterator[float]:
    """Tokens per second and GPU of each cell: measured, given, or a share of the peak."""
    measured = dict(rates_of_results(Path(given.results))) if given.results else {}
    assumed = given.efficiency * given.peak * 1e12 / (3 * work.operations(work.config.model.length))
    common = given.throughput or (median(measured.values()) if measured else assumed)
    yield from (measured.get(name, common) for name in names)


def rates_of_results(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield (encoding, tokens per second that its runs trained at) of a folder of runs."""
    measured: dict[str, list[float]] = {}
    for file in sorted(folder.rglob("results.jsonl")):
        for row in read_rows(file):
            if row.protocol == ONCE and row.metric == "tokens_per_second" and row.value:
                measured.setdefault(row.encoding, []).append(row.value)
    if not measured:
        raise UsageError(f"results={folder} holds no runs with a measured tokens_per_second.")
    yield from ((name, mean(values)) for name, values in measured.items())


@dataclass(frozen=True)
class Forecast:
    """A sweep on a number of GPUs."""

    name: str
    work: Work
    given: Assumptions
    rates: list[float]  # tokens per second and GPU, of each run

    @property
    def runs(self) -> list[float]:
        """Hours that each run takes."""
        tokens, start = self.work.tokens + self.work.evaluated, self.given.start / 3600
        return [start + tokens / rate / self.work.gpus / 3600 for rate in self.rates]

    @property
    def at_once(self) -> int:
        return min(len(self.rates), self.given.gpus // self.work.gpus)

    @property
    def hours(self) -> float:
        """Hours until the last run ends, each starting as soon as there are GPUs for it."""
        free = [0.0] * self.at_once
        for taken in self.runs:
            heapq.heapreplace(free, free[0] + taken)
        return max(free)

    @property
    def gpu_hours(self) -> float:
        return self.given.gpus * self.hours

    def lines(self) -> Iterator[str]:
        work, given, runs = self.work, self.given, len(self.rates)
        hours = mean(self.runs)
        assumed = f"{given.efficiency:.0%} of {given.peak:g} TFLOP/s"
        source = "measured" if given.results else "given" if given.throughput else assumed
        kept = runs * work.parameters * WEIGHT
        resumable = KEPT * self.at_once * work.parameters * RESUMABLE
        yield f"{self.name}: {runs} runs of {work.parameters / 1e6:,.0f}M weights on {given.gpus} GPUs"
        yield f"throughput  {mean(self.rates):,.0f} tokens/s per GPU ({source})"
        yield (
            f"per run     {work.tokens / 1e9:,.2f} billion tokens, and an evaluation that costs as much as "
            f"{work.evaluated / 1e9:,.2f}: {hours:,.1f} h on {work.gpus} GPU{'s' * (work.gpus > 1)}"
        )
        yield f"hours       {self.hours:,.1f}"
        idle = 1 - sum(self.runs) * work.gpus / self.gpu_hours
        yield f"idle        {idle:.0%} of {self.gpu_hours:,.0f} GPU-hours"
        yield f"storage     {kept / 1e9:,.1f} GB of models, {resumable / 1e9:,.1f} GB more while they train"
        rate = work.points / hours / 3600 * self.at_once
        yield f"W&B         {runs * work.points:,} values, {rate:,.2f} per second"
        yield f"cost        ${self.gpu_hours * given.price:,.0f} at ${given.price:g} per GPU-hour"


def forecast(arguments: Sequence[str]) -> Forecast:
    """Return the forecast of a command line: `Assumptions`, and what `python -m train` would be given."""
    assumptions = [
        argument for argument in arguments if argument.partition("=")[0] in Assumptions.model_fields
    ]
    given = Assumptions.of(dotted(assumptions))
    config, names = sweep_settings(*(argument for argument in arguments if argument not in assumptions))
    work, count = Work(config), given.cells or len(names)
    names = [names[number % len(names)] for number in range(count)]
    if given.gpus < work.gpus:
        raise UsageError(f"gpus={given.gpus} is fewer than the {work.gpus} that one run takes.")
    sweep = next(
        (argument.partition("=")[2] for argument in arguments if argument.startswith("sweeps=")), "one run"
    )
    return Forecast(sweep, work, given, list(rates(work, names, given)))


def main() -> None:
    print(*forecast(sys.argv[1:]).lines(), sep="\n")


if __name__ == "__main__":
    command(main)
