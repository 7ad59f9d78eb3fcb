"""The agreement of two scales on the order of methods, by Kendall's rank correlation.

Two scales share held-out documents, whose luck they would share as well. So the one is scored on the even
documents and the other on the odd ones, then the other way round, and tau is the mean of both. It has no
interval: a bootstrap over methods excludes its own estimate too often, because resampled methods tie. Both
gains are over the controls that both scales have.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps.gain import GAINS, document_mean, gain_samples, method_gains
from sweeps.numbers import MISSING, number, to_markdown
from sweeps.study.gains import read_table_of, shared_controls
from sweeps.study.options import StudyOptions
from sweeps.table import Table, rows_where

FEWEST = 4  # methods that two scales must share
HEADS = [
    "from", "control", "methods", "gain: tau", "by seed", "gainers", "among gainers: tau", "loss at L: tau",
]  # fmt: skip


def agreement_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return Kendall's tau of each scale with the last: of the gain at `times` (4) times the training length,
    among all methods and among those that gain in the last."""
    *tables, last = map(read_table_of, folders)
    multiple = options.times
    rows = [agreement(table, last, multiple) for table in tables]
    return to_markdown(HEADS, [[f"`{f.name}`", *row] for f, row in zip(folders[:-1], rows, strict=True)])


def agreement(table: Table, last: Table, multiple: int) -> list[str]:
    """Return what a scale says of the last: one line of the table, without its name."""
    controls = shared_controls([table, last])
    gains, losses = [], []
    for each in (table, last):
        gain, loss = gain_samples(each, controls)[0], each.sample("same_tokens", "loss")
        gains.append(rows_where(gain, extension="none", length=multiple * each.trained))
        losses.append(rows_where(loss, extension="none", length=each.trained))
    shared = set.intersection(*({*sample.index.unique("method")} for sample in gains))
    if not shared:
        names = " and ".join(str(each.runs[0].folder.parent) for each in (table, last))
        raise UsageError(f"{names} have no method in common with a gain at {multiple}x.")
    verdicts = method_gains(last, controls)["verdict"]
    gainers = {name for name in shared if verdicts.get((name, "none", multiple * last.trained)) == GAINS}
    seeds = gains[0].index.unique("seed")
    alone = [gains[0].xs(seed, level="seed", drop_level=False) for seed in seeds if len(seeds) > 1]
    windows = table.windows, last.windows
    by_seed = [number(tau((part, gains[1]), windows, shared), 2) for part in alone]
    every, among = (number(tau(gains, windows, methods), 2) for methods in (shared, gainers))
    cells = [
        " and ".join(controls),
        str(len(shared)),
        every,
        ", ".join(by_seed) or MISSING,
        str(len(gainers)),
        among,
    ]
    return [*cells, number(tau(losses, windows, shared), 2)]


def tau(samples: Sequence[pd.DataFrame], windows: Sequence[pd.Series], methods: set[str]) -> float | None:
    """Return Kendall's tau-b of the means over seeds of two samples, on documents apart; None with too few
    methods. A document counts by its windows."""
    from scipy.stats import kendalltau

    found = []
    for half in range(2):
        values = []
        for sample, weights, place in zip(samples, windows, (half, 1 - half), strict=True):
            documents = sample.columns[sample.columns % 2 == place] if sample.shape[1] > 1 else sample.columns
            means = document_mean(sample[documents], weights)[-1]
            values.append(means.groupby(level="method").mean().dropna())
        common = [name for name in sorted(methods) if all(name in part.index for part in values)]
        if len(common) < FEWEST:
            return None
        found.append(kendalltau(*(part[common] for part in values)).statistic)
    return float(np.mean(found))
