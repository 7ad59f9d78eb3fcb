"""The table of gains: by length of one sweep, or by the training tokens of several."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps.comparison import Comparison
from sweeps.gain import gain_samples, judged_gains, over_words
from sweeps.numbers import number, times, to_markdown, with_interval
from sweeps.read_tables import only_table
from sweeps.results import load_readable
from sweeps.statistics import SIGNIFICANT
from sweeps.study.options import StudyOptions
from sweeps.table import Table, rows_where, variant_name
from sweeps.tables.notes import two_groups_note
from train.results.gain import control_names

Name = TypeVar("Name", str, tuple[str, str])  # a method, or a method under an extension


def read_table_of(folder: Path) -> Table:
    """Return the losses of a folder, and print which of its runs cannot be read."""
    return only_table(load_readable(folder))


def gain_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return the loss at the training length and the gain at each longer length; with several folders, the
    gain at `times` (4) times the training length in each, on the seeds and documents that all have."""
    tables = [read_table_of(folder) for folder in folders]
    if len({*folders}) < len(folders):
        raise UsageError("A folder is named twice: name each once.")
    if len(tables) > 1:
        return checkpoint_table(tables, options.times)
    comparison = Comparison(tables[0])
    trained, found = comparison.trained, comparison.gains
    lengths, losses = sorted(found.index.unique("length")), comparison.means
    rows = []
    for name in largest_first(rows_where(found, length=comparison.halfway), variants(comparison)):
        cells = [gain_cell(found, (*name, length)) for length in lengths]
        home, known = (
            losses["value"].get((*name, trained)),
            rows_where(found, method=name[0], extension=name[1]),
        )
        seeds = sorted({*known["seeds"].astype(int), *losses["seeds"].loc[name].astype(int)} - {0})
        counts = " to ".join(str(count) for count in dict.fromkeys((seeds[0], seeds[-1])))
        rows.append([f"`{variant_name(*name)}`", counts, number(home), *cells])
    heads = ["method", "seeds", f"loss at {trained}", *(times(int(n), trained) for n in lengths)]
    note = " ".join(filter(None, (f"Over {over_words(found)}.", two_groups_note(comparison))))
    return f"{to_markdown(heads, rows)}\n\n{note}"


def variants(comparison: Comparison) -> list[tuple[str, str]]:
    """Return each method without an extension; a single method also under those that were evaluated."""
    if len(comparison.names) > 1:
        return [(name, "none") for name in comparison.names]
    return [
        (str(name), str(extension)) for name, extension in comparison.gains.index.droplevel("length").unique()
    ]


def checkpoint_table(tables: Sequence[Table], multiple: int) -> str:
    """Return the gain after each number of training tokens, for methods in several tables; of two tables with
    the same targets also the difference, the second minus the first. Tables of one text are compared on the
    documents that all have."""
    by_tokens = sorted((table.runs[0].trained_tokens or 0, n) for n, table in enumerate(tables))
    tables = [tables[n] for _, n in by_tokens]
    shared = shared_controls(tables)
    every = [gain_samples(table, shared)[0] for table in tables]
    seeds = set.intersection(*({*sample.index.unique("seed")} for sample in every))
    if is_one_text := has_one_text(tables):
        documents = [n for n in every[0].columns if all(n in sample.columns for sample in every)]
        every = [sample[documents] for sample in every]
    if not seeds or every[0].empty:
        raise UsageError("The folders have no seed or no documents in common: evaluate the same runs.")
    samples, columns = [], {}
    lengths = {table.trained for table in tables}
    for (trained_tokens, _), table, sample in zip(by_tokens, tables, every, strict=True):
        chosen = f"extension == 'none' and length == {multiple * table.trained} and seed in @seeds"
        part = sample.query(chosen)
        if part.empty:
            raise UsageError(f"No method was scored at {multiple} times the training length.")
        at = f" at length {table.trained}" * (len(lengths) > 1)
        name = f"{table.runs[0].folder.parent.name}, {trained_tokens / 1e6:.1f}M tokens{at}"
        samples.append(part)
        columns[name] = judged_gains(part, table.windows).droplevel(["extension", "length"])
    if len(tables) == 2 and tables[0].targets == tables[1].targets:
        change = judged_gains((samples[1] - samples[0]).dropna(), tables[0].windows)
        columns["second − first"] = change.droplevel(["extension", "length"])
    names = sorted({name for part in columns.values() for name in part.index})
    rows = [
        [f"`{name}`", *(gain_cell(part, name) for part in columns.values())]
        for name in largest_first(list(columns.values())[len(tables) - 1], names)
        if sum(name in part.index for part in columns.values()) > 1
    ]
    shared_text = f"the {every[0].shape[1]} documents that all folders have"
    text = shared_text if is_one_text else "different text"
    return f"{to_markdown(['method', *columns], rows)}\n\nOver {control_names(shared)}, on {text}."


def has_one_text(tables: Sequence[Table]) -> bool:
    """Return whether the documents of all tables are of one held-out text."""
    return len({(table.data, table.held_out) for table in tables}) == 1


def shared_controls(tables: Sequence[Table]) -> list[str]:
    """Return the fair controls that all tables have, in alphabetical order. Raise UsageError without one."""
    controls = [{n for over in gain_samples(table)[1] for n in over.split(" and ")} for table in tables]
    if not (shared := sorted(set.intersection(*controls))):
        raise UsageError("The folders have no control in common: evaluate window or crop in all of them.")
    return shared


def largest_first(found: pd.DataFrame, names: Sequence[Name]) -> list[Name]:
    """Return names, the largest gain of `found`, by name, first, and those without a gain last."""
    return sorted(names, key=lambda name: -found["value"].get(name, -np.inf))


def gain_cell(found: pd.DataFrame, key: object) -> str:
    """Return a gain with its interval, bold if it is separable from zero after Holm's correction."""
    if key not in found.index:
        return ""
    row = found.loc[key]
    text = with_interval(row)
    return f"**{text}**" if row["p_holm"] < SIGNIFICANT else text
