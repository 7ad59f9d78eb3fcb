"""The smallest differences that a number of seeds can detect."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from conf.errors import UsageError
from sweeps.comparison import Comparison, comparisons_of, unit
from sweeps.numbers import number, plural, to_markdown
from sweeps.results import load_sweep
from sweeps.statistics import smallest_difference
from sweeps.study.options import StudyOptions
from sweeps.table import rows_where

COUNTS = (2, 3, 5, 8, 12)  # of seeds


def power_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return the smallest difference from the reference that a number of seeds detects with 80 % power at
    5 %, Bonferroni-corrected, by length; the median over methods."""
    planned = options.seeds
    if planned < 2:
        raise UsageError(f"seeds must be at least 2, not {planned}: one shows no variation.")
    comparisons = comparisons_of(load_sweep(folders[0]))
    return "\n\n".join(power_of(comparison, planned) for comparison in comparisons)


def power_of(comparison: Comparison, planned: int) -> str:
    """Return the table of one comparison and a sentence on the planned number of seeds."""
    names = [name for name in comparison.names if name != comparison.reference]
    if len(comparison.seeds) < 2 or not names:
        lacks = "one seed" if names else "one method"
        raise UsageError(f"There is {lacks} in {comparison.title}: power needs two seeds of two methods.")
    found = comparison.differences[comparison.differences["seeds"] > 1]
    needed = {
        count: pd.Series(smallest_difference(found, count, len(names)), found.index)
        for count in sorted({*COUNTS, planned})
    }
    medians = pd.DataFrame(needed).groupby(level="length").median().reindex(comparison.lengths)
    rows = [[str(count), *map(number, column)] for count, column in medians.items()]
    last = rows_where(needed[planned], length=comparison.longest).dropna()
    end = f"With {plural(planned, 'seed')} at {comparison.at(comparison.longest)}: "
    if len(last):
        end += f"{number(last.median())}, at worst {number(last.max())} ({last.idxmax()})."
    else:
        end += "no method besides the reference has two seeds there."
    head = f"{unit(comparison.metric)} under {comparison.protocol}, difference from {comparison.reference}"
    heads = ["seeds", *(f"{n:,}" for n in comparison.lengths)]
    return f"{to_markdown(heads, rows)}\n\n{head}. {end}"
