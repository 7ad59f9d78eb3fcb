"""The hours, storage and cost of a sweep on many GPUs, from a measured throughput.

yardstick plan sweeps=encodings_gpu gpus=64 throughput=400000
yardstick plan sweeps=encodings_gpu gpus=64 results=outputs/sweeps/smoke     # each encoding's own
"""

import heapq
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean

from conf.errors import UsageError
from models import registry
from sweeps import command
from sweeps.numbers import plural
from sweeps.results import load_readable
from train.config.compose import dotted, options_of, sweep_settings
from train.config.schema import Config
from train.config.validation import Natural, Quantity, Section
from train.results.rows import ONCE

WEIGHT, RESUMABLE = 4, 12  # bytes of a parameter; with AdamW's two moments
BYTES = 4.5  # of text in a token, with about 50,000 different tokens; fewer if there are fewer
STATES = 2  # of a run while it trains: the last one, and the next while it is written


class Assumptions(Section):
    """The assumptions of a plan besides the settings of the sweep."""

    gpus: Natural
    throughput: Quantity | None = None  # tokens per second and GPU in training
    results: str | None = None  # a folder of runs, whose rates take the place of `throughput`
    price: Quantity = 2.5  # dollars per GPU-hour
    start: Quantity = 120.0  # seconds until a run computes


def plan(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a plan; the arguments are `Assumptions`, and those of `yardstick`."""
    words = options_of(arguments).overrides
    assumptions = [item for item in words if item.partition("=")[0] in Assumptions.model_fields]
    given = Assumptions.of(dotted(assumptions))
    config, encodings = sweep_settings(*(item for item in words if item not in assumptions))
    gpus, runs = config.trainer.processes, len(encodings)
    if given.gpus < gpus:
        raise UsageError(f"gpus={given.gpus} is fewer than the {gpus} that one run takes.")
    rates, at_once = list(rates_of(encodings, given)), min(runs, given.gpus // gpus)
    steps, further = config.trainer.max_steps, finetuning_steps(config)
    tokens = config.batch * config.model.length  # of a step
    trained = tokens * (steps + sum(further))
    evaluated = evaluation_tokens(config)
    hours = [given.start / 3600 + (trained + evaluated) / rate / gpus / 3600 for rate in rates]
    total, weights = hours_in_all(hours, at_once), parameter_count(config)
    gpu_hours = given.gpus * total
    size = f"{weights / 1e6:,.0f}M weights"
    yield f"{plural(runs, 'run')} of {size}, {at_once} at once on {plural(given.gpus, 'GPU')}"
    yield f"throughput  {mean(rates):,.0f} tokens/s per GPU"
    yield f"tokens      {trained / 1e6:,.1f} million per run; evaluation takes that of {evaluated / 1e6:,.1f}"
    if limit := config.data.get("limit"):
        longest = tokens * (steps + max(further))  # each fine-tuning goes on where the training ended
        passes = longest * BYTES / (limit * 1e6)
        warning = ": raise data.limit, or models learn the text by heart" if passes > 2 else ""
        yield f"passes      {passes:,.1f} over {limit:,.0f} MB of text, at {BYTES} bytes a token{warning}"
    yield f"hours       {total:,.1f}; {mean(hours):,.1f} per run"
    yield f"idle        {1 - sum(hours) * gpus / gpu_hours:.0%} of {gpu_hours:,.0f} GPU-hours"
    yield (
        f"storage     {runs * weights * WEIGHT / 1e9:,.1f} GB of models, "
        f"{STATES * at_once * weights * RESUMABLE / 1e9:,.1f} GB more while they train"
    )
    yield f"cost        ${gpu_hours * given.price:,.0f} at ${given.price:g} per GPU-hour"


def rates_of(encodings: Sequence[str], given: Assumptions) -> Iterator[float]:
    """Yield the tokens per second and GPU of each run: measured for its encoding or for all, or given."""
    measured: dict[str, list[float]] = {}
    for run in load_readable(Path(given.results)).runs if given.results else []:
        for row in run.rows:
            if row.protocol == ONCE and row.metric == "tokens_per_second" and row.value:
                measured.setdefault(run.encoding, []).append(row.value)
    common = given.throughput or (mean(map(mean, measured.values())) if measured else 0.0)
    if not common:
        raise UsageError(
            "Give throughput=<tokens per second of a GPU>, or results=<folder of a finished run>: "
            "the rows of a run have a tokens_per_second."
        )
    yield from (mean(measured.get(name, [common])) for name in encodings)


def parameter_count(config: Config) -> int:
    model = config.model
    return model.vocab * model.width * (1 if model.tied else 2) + 12 * model.depth * model.width**2


def finetuning_steps(config: Config) -> list[int]:
    """Return the steps of further training under the chosen extension and those that are named; their steps
    have about as many tokens as those of the training."""
    named = (registry.read("extension", name) for name in config.evaluation.named)
    return [config.extension.finetune_steps, *(int(each.get("finetune_steps", 0)) for each in named)]


def evaluation_tokens(config: Config) -> float:
    """Return how many tokens training processes in the time of all evaluations, by operations."""

    def forward(length: int) -> int:
        """Return the forward operations of a token that sees half of `length` keys; backward is twice."""
        return 2 * parameter_count(config) + 2 * config.model.depth * config.model.width * length

    evaluation, trained = config.evaluation, config.model.length
    passes = (1 + len(evaluation.named)) * max(1, len(evaluation.protocols))
    operations = sum(length * forward(length) for length in evaluation.at(trained))
    return evaluation.windows * passes * operations / (3 * forward(trained))


def hours_in_all(hours: Sequence[float], at_once: int) -> float:
    """Return the hours until the last run ends, if each starts as soon as its GPUs are free."""
    free = [0.0] * at_once
    for taken in hours:
        heapq.heapreplace(free, free[0] + taken)
    return max(free)


def main() -> None:
    print(*plan(sys.argv[1:]), sep="\n")


if __name__ == "__main__":
    command(main)
