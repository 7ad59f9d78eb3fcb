"""The gain from longer context with each method at its best learning rate, as Markdown.

The rate is chosen by the loss at the training length alone, over half of the documents; the other half is
scored. Then the halves change places, so that every document is scored at a rate that it did not choose.

python -m sweeps.best_rate docs/study docs/study/rates      # a sweep at one rate, then the same at others
"""

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conf.errors import UsageError
from sweeps import command
from sweeps.comparison.comparisons import CONTEXT_CONTROLS, better_controls, context_gains
from sweeps.comparison.curves import Curves, Group
from sweeps.context_gain import cell, scored_group, shared_curves, table_of_methods, worth
from sweeps.old_statistics import Array
from sweeps.results import FinishedRun, load_readable

RATE = "settings.optimizer.learning_rate"


def groups_by_rate(folders: list[Path]) -> dict[float, Group]:
    """Return the runs of all folders at each learning rate, the first folder's first."""
    sweeps = [load_readable(folder) for folder in folders]
    by_rate: dict[float, list[FinishedRun]] = defaultdict(list)
    for run in (run for sweep in sweeps for run in sweep.runs):
        by_rate[run.facts[RATE]].append(run)
    return {rate: scored_group(replace(sweeps[0], runs=runs)) for rate, runs in by_rate.items()}


def stacked_curves(groups: list[Group]) -> tuple[Curves, Array]:
    """Return the losses of the first group, and (R, V, T, S, D) those of all groups, at common lengths and of
    common methods; a seed that one of them lacks is nan in all."""
    every = shared_curves(groups)
    lengths = sorted(set.intersection(*(set(curves.lengths) for curves in every)))
    methods = set.intersection(*({name for name, _ in curves.variants} for curves in every))
    variants = [(name, extension) for extension in ("none", *CONTEXT_CONTROLS) for name in sorted(methods)]
    samples = np.stack([curves.at(variants, lengths) for curves in every])
    home = [lengths.index(groups[0].trained)]
    samples = np.where(np.isnan(samples[:, :, home]).any((0, -1), keepdims=True), np.nan, samples)
    values = samples[0].sum(-1) / every[0].counts.sum()
    first = replace(every[0], variants=variants, lengths=lengths, values=values, samples=samples[0])
    return first, samples


def chosen_rates(losses: Array, counts: Array) -> NDArray[np.int64]:
    """Return which rate is best, (V, 2), by losses (R, V, S, D) over the even and over the odd documents."""
    halves = [slice(half, None, 2) for half in range(2)]
    means = [np.nansum(losses[..., half], axis=(-1, -2)) / counts[half].sum() for half in halves]
    return np.stack(means, axis=-1).argmin(0)


def best_rate_table(groups: dict[float, Group]) -> str:
    """Return a table: the rate, the loss at the training length, the gains at longer ones, and the gains at
    the first rate on the same seeds and documents."""
    rates, (first, samples) = [*groups], stacked_curves([*groups.values()])
    trained = next(iter(groups.values())).trained
    home, count = first.lengths.index(trained), len(first.variants) // (1 + len(CONTEXT_CONTROLS))
    choice = chosen_rates(samples[:, :count, home], first.counts)
    other_half = 1 - np.arange(len(first.counts)) % 2
    place = np.tile(choice, (1 + len(CONTEXT_CONTROLS), 1))[:, other_half]  # (V, D): the same for controls
    best = np.take_along_axis(samples, place[None, :, None, None, :], axis=0)[0]
    names = [name for name, extension in first.variants if extension == "none"]
    tables = [
        context_gains(curves, better_controls(curves, names, 1), 1)
        for curves in (replace(first, samples=best), first)
    ]
    losses = first.interval(best[:count, [home]]).value[:, 0]
    seeds = np.isfinite(best[:count, home]).all(-1).sum(-1)
    longer = [t for t, length in enumerate(first.lengths) if length > trained]
    rows = {
        name: [
            str(seeds[n]),
            " and ".join(f"{rate / rates[0]:g}x" for rate in sorted({rates[r] for r in choice[n]})),
            f"{losses[n]:.3f}",
            *(cell(gains.get(name), t) for gains in tables for t in longer),
        ]
        for n, name in enumerate(names)
        if seeds[n]
    }
    order = {name: worth(tables[0].get(name), longer[0]) for name in rows}
    times = [f"{first.lengths[t] // trained}x" for t in longer]
    heads = ["seeds", "best rate", f"loss at {trained}", *times, *(f"{t}, first rate" for t in times)]
    return table_of_methods(heads, rows, order)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.best_rate", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="sweeps or archives, at different rates")
    groups = groups_by_rate(parser.parse_args().folders)
    if len(groups) < 2:
        raise UsageError("All runs have the same learning rate: name another folder, as docs/study/rates.")
    print(best_rate_table(groups))


if __name__ == "__main__":
    command(main)
