"""The gain of each method at the learning rate that is best for it.

The rate is chosen by the loss at the training length alone, over half of the documents, on the seeds that
were trained at every rate. The other half is scored, on all seeds of the chosen rate. Then the halves change
places, so every document is scored at a rate that it did not choose.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps.gain import gain_samples, judged_gains
from sweeps.numbers import times, to_markdown
from sweeps.read_tables import read_table
from sweeps.runs import FinishedRun
from sweeps.study.gains import gain_cell, has_one_text, largest_first, read_table_of, shared_controls
from sweeps.study.options import StudyOptions
from sweeps.table import Table, rows_where
from train.results.gain import control_names

RATE = "optimizer.learning_rate"
SPLIT = (
    " Where two rates are best, each serves the documents that did not choose it; "
    "for those that the first one serves, best − first is zero."
)


def rate_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return the best rate of each method, its gains there, and by how much these differ from those at the
    first rate, paired."""
    by_rate = tables_by_rate([read_table_of(folder) for folder in folders])
    first, controls = next(iter(by_rate.values())), shared_controls([*by_rate.values()])
    chosen, best, changes = judged_at_best_rates(by_rate, controls)
    lengths = sorted(best.index.unique("length"))
    heads = ["method", "rates", "best", "seeds", *(times(int(n), first.trained) for n in lengths)]
    heads += [f"{times(int(n), first.trained)}, best − first" for n in lengths]
    rows = [
        [
            f"`{name}`",
            *chosen[name],
            f"{best['seeds'][name].max():.0f}",
            *(gain_cell(part, (name, n)) for part in (best, changes) for n in lengths),
        ]
        for name in largest_first(rows_where(best, length=lengths[0]), sorted(chosen))
    ]
    is_split = any(" and " in best for _, best in chosen.values())
    return f"{to_markdown(heads, rows)}\n\nOver {control_names(controls)}.{SPLIT * is_split}"


def judged_at_best_rates(
    by_rate: dict[float, Table], controls: Sequence[str]
) -> tuple[dict[str, list[str]], pd.DataFrame, pd.DataFrame]:
    """Return the rates of each method and the best of them as text, its gains at the best by method and
    length, and by how much these differ from those at the first rate. Raise UsageError where rates or text
    do not allow it."""
    if len(by_rate) < 2:
        raise UsageError("All runs have the same learning rate: name another folder, as docs/study/rates.")
    if not has_one_text([*by_rate.values()]):
        raise UsageError("The folders have different held-out text: name folders that share it.")
    windows = next(iter(by_rate.values())).windows
    chosen, samples = gains_at_best_rates(by_rate, controls)
    best, changes = (judged_gains(sample, windows).xs("none", level="extension") for sample in samples)
    return chosen, best, changes


def tables_by_rate(tables: Sequence[Table]) -> dict[float, Table]:
    """Return the table of all runs with each learning rate, the first table's first."""
    runs: dict[float, list[FinishedRun]] = {}
    for table in tables:
        for run in table.runs:
            runs.setdefault(float(run.settings[RATE]), []).append(run)
    return {rate: read_table(alike) for rate, alike in runs.items()}


def gains_at_best_rates(
    by_rate: dict[float, Table], controls: Sequence[str]
) -> tuple[dict[str, list[str]], list[pd.DataFrame]]:
    """Return the rates of each method and the best of them as text; and its gains over these controls by seed
    and document at the best, and less those at the first rate, on the same seeds and on the documents that
    all its rates have. Raise UsageError without a method that has the first rate and another."""
    rates, windows = list(by_rate), next(iter(by_rate.values())).windows
    samples = [gain_samples(table, controls)[0] for table in by_rate.values()]
    homes = [
        table.sample("same_tokens", "loss").xs(("none", table.trained), level=("extension", "length"))
        for table in by_rate.values()
    ]
    best, changes, chosen = [], [], {}
    for name in sorted(samples[0].index.unique("method")):
        tried = [n for n, sample in enumerate(samples) if name in sample.index.unique("method")]
        seeds = sorted(set.intersection(*({*homes[n].loc[name].index} for n in tried)))
        if len(tried) < 2 or not seeds:
            continue
        parts = [samples[n].loc[(name, "none", slice(None), slice(None)), :] for n in tried]
        documents = [n for n in parts[0].columns if all(n in part.columns for part in parts)]
        losses = np.stack([homes[n].loc[name].loc[seeds, documents].mean() for n in tried])
        even, weights = np.arange(len(documents)) % 2 == 0, windows[documents].to_numpy()
        means = [np.average(losses[:, half], axis=1, weights=weights[half]) for half in (~even, even)]
        choice = [int(mean.argmin()) for mean in means]  # for even documents, for odd ones
        index = parts[0].index.intersection(parts[choice[0]].index).intersection(parts[choice[1]].index)
        values = np.where(even, *(parts[n].loc[index, documents].to_numpy() for n in choice))
        best.append(pd.DataFrame(values, index, documents))
        changes.append(best[-1] - parts[0].loc[index, documents])
        factors = [f"{rates[n] / rates[0]:g}x" for n in sorted(tried, key=rates.__getitem__)]
        best_factors = [f"{rates[tried[n]] / rates[0]:g}x" for n in sorted({*choice})]
        chosen[name] = [", ".join(factors), " and ".join(best_factors)]
    if not best:
        raise UsageError(
            "No method has the first learning rate and another: name folders that share methods."
        )
    return chosen, [pd.concat(best), pd.concat(changes)]
