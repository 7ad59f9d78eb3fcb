"""The smallest difference that a number of seeds can detect: `python -m sweeps.report.power <folder> --seeds
5`.

The variances due to seeds and to documents come from existing runs with at least two seeds.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conf.errors import UsageError
from sweeps import command
from sweeps.comparison.comparisons import chosen_reference, paired_differences, ranked
from sweeps.comparison.curves import Curves, Group
from sweeps.comparison.summarize import comparable_groups, is_in_tokens, main_score
from sweeps.comparison.summary import HIGHER_IS_BETTER, unit
from sweeps.numbers import number, plural, tokens
from sweeps.old_statistics import Array, satterthwaite, smallest_difference
from sweeps.results import load_sweep

if TYPE_CHECKING:
    from rich.table import Table

COUNTS = (2, 3, 5, 8, 12)


def main() -> None:
    from rich.console import Console

    parser = argparse.ArgumentParser(prog="python -m sweeps.report.power", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of a sweep with at least two seeds")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds are planned (default: 5)")
    parser.add_argument("--reference", help="the method that the others are compared with (default: rope)")
    options = parser.parse_args()
    console = Console(highlight=False)
    for table, sentence in power(options.folder, options.seeds, options.reference):
        console.print(table)
        console.print(sentence)


def power(folder: Path, seeds: int, reference: str | None = None) -> "list[tuple[Table, str]]":
    """Return a table and a sentence for each comparison of a sweep."""
    if seeds < 2:
        reason = "one seed says nothing about variation between seeds"
        raise UsageError(f"--seeds must be at least 2, not {seeds}: {reason}.")
    results = [
        power_text(folder, group, seeds, reference)
        for group in comparable_groups(load_sweep(folder))
        if main_score(group)
    ]
    if not results:
        raise UsageError(f"There is nothing to compare in {folder}: no finished run in it has a loss.")
    return results


def power_text(folder: Path, group: Group, seeds: int, reference: str | None) -> "tuple[Table, str]":
    """Return the smallest differences by length, for `seeds` and for other numbers of seeds."""
    from rich import box
    from rich.table import Column, Table

    protocol, metric = main_score(group) or ("", "")
    curves = group.curves(protocol, metric)
    every = ranked(curves, -1 if metric in HIGHER_IS_BETTER else 1)
    if len(curves.seeds) < 2 or len(every) < 2:
        noun = "one seed" if len(curves.seeds) < 2 else "one method"
        where = f"{group.data}, trained at {group.trained} tokens"
        needed = "power needs at least two seeds of at least two methods"
        raise UsageError(f"{folder} has {noun} ({where}): {needed}.")
    if reference and reference not in every:
        raise UsageError(f"There is no method '{reference}' in {folder}; there are: {', '.join(every)}.")
    chosen = chosen_reference(every, group, reference)
    names = [name for name in every if name != chosen]
    heads = [Column(head, justify="right") for head in ("seeds", *map(tokens, curves.lengths))]
    table = Table(*heads, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    needed_by = {n: smallest(curves, names, chosen, n) for n in sorted({*COUNTS, seeds})}  # each (names, T)
    for count, differences in needed_by.items():
        known = [column[~np.isnan(column)] for column in differences.T]
        medians = [float(np.median(reason)) if len(reason) else None for reason in known]
        table.add_row(str(count), *map(number, medians), style="bold" if count == seeds else "")
    last = needed_by[seeds][:, -1]
    if np.isnan(last).all():
        return table, "No method besides the reference has two seeds at the longest length."
    hardest = names[int(np.nanargmax(last))]
    middle, largest = number(float(np.nanmedian(last))), number(float(np.nanmax(last)))
    noun, longest = unit(metric), tokens(curves.lengths[-1])
    where = f"{longest} tokens" if is_in_tokens(group) else f"length {longest}"
    return table, (
        f"{noun[0].upper()}{noun[1:]} under {protocol}: the difference from {chosen} that is detected with "
        f"80 % power at the 5 % level, corrected for {plural(len(names), 'comparison')}; median over "
        f"methods. With {seeds} seeds at {where}: {middle}, at worst {largest} ({hardest})."
    )


def smallest(curves: Curves, names: list[str], reference: str, seeds: int) -> Array:
    """Return the smallest differences, (names, T): more seeds reduce their part of the variance, but not that
    of documents."""
    now, documents = len(curves.seeds), max(len(curves.counts) - 1, 1)
    differences = paired_differences(curves, names, [reference] * len(curves.lengths))
    intervals = curves.interval(differences, pool=True)
    of_seeds, of_freedom = intervals.seeds * now / seeds, intervals.freedom * (seeds - 1) / (now - 1)
    freedom = satterthwaite(intervals.documents, documents, of_seeds, of_freedom)
    return smallest_difference(np.sqrt(intervals.documents + of_seeds), freedom, len(names))


if __name__ == "__main__":
    command(main)
