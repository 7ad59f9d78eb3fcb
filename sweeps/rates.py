"""The gain of each method at the learning rate that is best for it.

The rate is chosen by the loss at the training length alone, over half of the documents; the other half is
scored. Then the halves change places, so every document is scored at a rate that it did not choose.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps.gain import extended, gain_samples, judged_gains
from sweeps.results import FinishedRun
from sweeps.table import Table, read_table

RATE = "settings.optimizer.learning_rate"


def at_best_rates(tables: Sequence[Table]) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str], Table]:
    """Return the gains at the best and at the first rate by method and length, the best rates of each method
    as text, and the table of the first rate."""
    by_rate = tables_by_rate(tables)
    rates, first = list(by_rate), next(iter(by_rate.values()))
    if len(rates) < 2:
        raise UsageError("All runs have the same learning rate: name another folder, as docs/study/rates.")
    samples = {rate: gain_samples(table)[0].xs("none", level="extension") for rate, table in by_rate.items()}
    homes = {rate: at_home(table) for rate, table in by_rate.items()}
    methods = sorted(set.intersection(*({*sample.index.unique("method")} for sample in samples.values())))
    best, plain, chosen = [], [], {}
    for name in methods:
        seeds = set.intersection(*({*homes[rate].loc[name].index} for rate in rates))
        parts = {rate: part(samples[rate], name, seeds) for rate in rates}
        documents = [n for n in parts[rates[0]].columns if all(n in each.columns for each in parts.values())]
        index = parts[rates[0]].index.intersection(parts[rates[-1]].index)
        losses = np.stack([homes[rate].loc[name].loc[sorted(seeds), documents].mean() for rate in rates])
        even = np.arange(len(documents)) % 2 == 0
        choice = [int(losses[:, half].mean(axis=1).argmin()) for half in (~even, even)]  # for even, for odd
        values = np.where(even, *(parts[rates[n]].loc[index, documents].to_numpy() for n in choice))
        best.append(pd.DataFrame(values, index, documents))
        plain.append(parts[rates[0]].loc[index, documents])
        chosen[name] = " and ".join(f"{rates[n] / rates[0]:g}x" for n in sorted({*choice}))
    windows = first.windows
    found = [judged_gains(pd.concat(part), windows).xs("none", level="extension") for part in (best, plain)]
    return found[0], found[1], chosen, first


def tables_by_rate(tables: Sequence[Table]) -> dict[float, Table]:
    """Return the table of all runs with each learning rate, the first table's first."""
    runs: dict[float, list[FinishedRun]] = {}
    for table in tables:
        for run in table.runs:
            runs.setdefault(float(run.facts[RATE]), []).append(run)
    return {rate: read_table(alike) for rate, alike in runs.items()}


def at_home(table: Table) -> pd.DataFrame:
    """Return the losses at the training length by method and seed."""
    return extended(table.sample("same_tokens", "loss"), "none").xs(table.trained, level="length")


def part(sample: pd.DataFrame, name: str, seeds: set[int]) -> pd.DataFrame:
    """Return the gains of a method on some seeds, with the levels that `judged_gains` needs."""
    own = sample[sample.index.get_level_values("method") == name]
    own = own[own.index.get_level_values("seed").isin(seeds)]
    return pd.concat({"none": own}, names=["extension"]).reorder_levels(
        ["method", "extension", "length", "seed"]
    )
