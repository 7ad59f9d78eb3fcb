"""The smallest differences that a number of seeds can detect."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from conf.errors import UsageError
from sweeps.comparison import Comparison, comparisons_of, unit
from sweeps.numbers import number, plural, to_markdown
from sweeps.results import load_sweep
from sweeps.statistics import interval, smallest_difference
from sweeps.study.options import StudyOptions

COUNTS = (2, 3, 5, 8, 12)  # of seeds


def power_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return the smallest difference from the reference that a number of seeds detects with 80 % power at
    5 %, Bonferroni-corrected, by length; the median over methods."""
    planned = options.seeds
    if planned < 2:
        raise UsageError(f"seeds must be at least 2, not {planned}: one shows no variation.")
    comparisons = comparisons_of(load_sweep(folders[0]), options.reference)
    return "\n\n".join(power_of(comparison, planned) for comparison in comparisons)


def power_of(comparison: Comparison, planned: int) -> str:
    """Return the table of one comparison and a sentence on the planned number of seeds."""
    names = [name for name in comparison.names if name != comparison.reference]
    if len(comparison.seeds) < 2 or not names:
        lacks = "one seed" if names else "one method"
        raise UsageError(f"There is {lacks} in {comparison.title}: power needs two seeds of two methods.")
    sample = comparison.plain
    index = [(name, n, seed) for name in names for n in comparison.lengths for seed in comparison.seeds]
    other = [(comparison.reference, n, seed) for _, n, seed in index]
    shape = len(names), len(comparison.lengths), len(comparison.seeds), sample.shape[1]
    values = (sample.reindex(index).to_numpy() - sample.reindex(other).to_numpy()).reshape(shape)
    found = interval(values, comparison.table.windows.to_numpy() if shape[-1] > 1 else None)
    needed = {
        count: np.where(found.seeds > 1, smallest_difference(found, count, len(names)), np.nan)
        for count in sorted({*COUNTS, planned})
    }
    rows = []
    for count, each in needed.items():
        medians = (np.nanmedian(column) if np.isfinite(column).any() else None for column in each.T)
        rows.append([str(count), *map(number, medians)])
    last = needed[planned][:, -1]
    end = f"With {plural(planned, 'seed')} at {comparison.at(comparison.longest)}: "
    if np.isfinite(last).any():
        hardest = names[int(np.nanargmax(last))]
        end += f"{number(float(np.nanmedian(last)))}, at worst {number(float(np.nanmax(last)))} ({hardest})."
    else:
        end += "no method besides the reference has two seeds there."
    head = f"{unit(comparison.metric)} under {comparison.protocol}, difference from {comparison.reference}"
    heads = ["seeds", *(f"{n:,}" for n in comparison.lengths)]
    return f"{to_markdown(heads, rows)}\n\n{head}. {end}"
