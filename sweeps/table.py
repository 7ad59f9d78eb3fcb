"""The table of a sweep: all scores, by method, extension, protocol, metric, length, seed and document.

A row of `values` is a number of a run; a row of `scores` has the same index and a column for each document.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conf.errors import UsageError
from sweeps.methods import equal_methods, extension_names, method_names, newest_runs
from sweeps.results import SweepResults
from sweeps.runs import FinishedRun
from sweeps.statistics import FEWEST_DOCUMENTS
from train.results.protocols import is_partial
from train.results.rows import ANSWERS, CHANCE, DEPTH, ONCE
from train.results.run_folder import OUT_OF_MEMORY

INDEX = ["method", "extension", "protocol", "metric", "length", "seed"]
COSTS = ("tokens_per_second", "peak_memory", "seconds", CHANCE, OUT_OF_MEMORY)  # nothing to rank methods by
HIGHER_IS_BETTER = ("accuracy", "exact_match", "margin", "tokens_per_second")


@dataclass(frozen=True, eq=False)
class Table:
    """The scores of runs with the same data and training length, and either text or answers."""

    values: pd.Series  # by INDEX; nan where there is no value
    scores: pd.DataFrame  # by INDEX, a column for each document: the mean of its windows
    windows: pd.Series  # the number of windows of each document
    undefined: pd.Series  # by INDEX: whether a method has no value by its definition
    runs: list[FinishedRun]
    members: dict[str, list[FinishedRun]]  # the runs of each method
    notes: list[str]

    @property
    def data(self) -> str:
        return self.runs[0].rows[0].data

    @property
    def corpus(self) -> str:
        return self.runs[0].rows[0].corpus

    @property
    def trained(self) -> int:
        return self.runs[0].rows[0].trained_length  # tokens

    @property
    def is_answers(self) -> bool:
        return any(row.is_answer for run in self.runs for row in run.rows)

    @cached_property
    def measured(self) -> list[tuple[str, str]]:
        """Return the protocols and their metrics, without costs, those that rank methods first."""
        pairs = self.values.index.droplevel(["method", "extension", "length", "seed"]).unique()
        known = (p for p in pairs if p[0] != ONCE and p[1] not in (CHANCE, OUT_OF_MEMORY))
        ranking = ("same_tokens", ANSWERS), ("loss", "accuracy")
        return sorted(known, key=lambda pair: (pair[0] not in ranking[0], pair[1] not in ranking[1], pair))

    @property
    def main(self) -> tuple[str, str] | None:
        """Return what ranks methods: the loss under same_tokens, or the accuracy of all answers."""
        ranking = [pair for pair in self.measured if not is_partial(pair[0]) and pair[1] not in COSTS]
        return ranking[0] if ranking else None

    def has(self, protocol: str, metric: str) -> bool:
        return (protocol, metric) in self.measured

    def value(self, protocol: str, metric: str) -> pd.Series:
        """Return the values of a protocol and a metric by method, extension, length and seed."""
        return select(self.values, protocol, metric)

    def sample(self, protocol: str, metric: str) -> pd.DataFrame:
        """Return the scores by method, extension, length and seed (rows) and by document (columns). Without
        scores of every document that agree with the values, there is one column, the value."""
        values, scores = (select(part, protocol, metric) for part in (self.values, self.scores))
        if not len(scores):
            return values.to_frame(-1)
        return scores.reindex(values.index[values.notna()]).reindex(values.index)

    @property
    def over(self) -> str:
        """Return what the intervals of the ranking are over: seeds and documents, one of them, or nothing."""
        if self.main is None:
            return ""
        sample = self.sample(*self.main)
        seeds = sample.index.get_level_values("seed").nunique()
        is_enough = {"seeds": seeds > 1, "documents": sample.shape[1] >= FEWEST_DOCUMENTS}
        return " and ".join(name for name, enough in is_enough.items() if enough)


def select(part: Any, protocol: str, metric: str) -> Any:
    """Return the rows of a protocol and a metric, by method, extension, length and seed."""
    levels = part.index.get_level_values
    chosen = (levels("protocol") == protocol) & (levels("metric") == metric)
    return part[chosen].droplevel(["protocol", "metric"])


def variant_name(method: str, extension: str) -> str:
    """Return the name of a method under an extension."""
    return method if extension == "none" else f"{method} + {extension}"


def only_table(sweep: SweepResults, metric: str = "loss") -> Table:
    """Return the table of a sweep that has a metric. Raise UsageError if none has, or several."""
    found = [table for table in read_tables(sweep) if table.main and table.main[1] == metric]
    if len(found) != 1:
        several = "Runs in {} differ in data or training length: name a folder whose runs do not."
        raise UsageError((several if found else "No run in {} has a " + metric + ".").format(sweep.folder))
    return found[0]


def read_tables(sweep: SweepResults) -> list[Table]:
    """Return a table for each data, corpus and training length; text and answers are separate. Runs that
    diverged have no scores: they are named and left out, unless there are no others."""
    alike: dict[tuple[str, str, int, bool], list[FinishedRun]] = defaultdict(list)
    diverged = [run for run in sweep.runs if run.about.diverged is not None]
    lost = [f"{run.folder.name} diverged and is left out. {run.about.diverged}" for run in diverged]
    for run in [run for run in sweep.runs if run not in diverged] or sweep.runs:
        kinds = {row.is_answer for row in run.rows if row.protocol != ONCE}
        for answers in kinds or {False}:
            rows = [row for row in run.rows if row.protocol == ONCE or row.is_answer == answers]
            key = rows[0].data, rows[0].corpus, rows[0].trained_length, answers
            alike[key].append(replace(run, rows=rows))
    tables = [read_table(runs) for _, runs in sorted(alike.items())]
    return [replace(table, notes=[*lost, *table.notes]) for table in tables]


def read_table(runs: list[FinishedRun]) -> Table:
    """Return the table of comparable runs. Of several trainings of a method and a seed, the newest counts."""
    runs, notes = newest_runs(runs)
    names = method_names(runs)
    is_plain = [any(row.extension == "none" for row in run.rows) for run in runs]
    plain = {name for name, known in zip(names, is_plain, strict=True) if known}
    cells: dict[tuple[object, ...], tuple[float, bool]] = {}
    members, variants = defaultdict(list), list[dict[str, tuple[str, str]]]()
    for run, name, (chosen, label) in zip(runs, names, extension_names(runs, names), strict=True):
        labels = {row.extension: label if row.extension == chosen else row.extension for row in run.rows}
        variants.append(
            {e: (name, text) if name in plain else (f"{name} + {text}", "none") for e, text in labels.items()}
        )
        for row in run.rows:
            key = (*variants[-1][row.extension], row.protocol, row.metric, row.length, run.seed)
            is_undefined = row.value is None and not row.sequences
            cells[key] = np.nan if row.value is None else row.value, is_undefined
        for method in dict.fromkeys(method for method, _ in variants[-1].values()):
            members[method].append(run)
    index = pd.MultiIndex.from_tuples(cells, names=INDEX)
    columns = zip(*cells.values(), strict=True)
    values, undefined = (pd.Series(column, index).sort_index() for column in columns)
    windows = windows_of(runs, notes)
    found = dict(document_scores(runs, variants, windows))
    scores = pd.DataFrame.from_dict(found, orient="index", columns=windows.index, dtype=float)
    scores.index = pd.MultiIndex.from_tuples(scores.index, names=INDEX) if len(scores) else index[:0]
    table = Table(values, scores.sort_index(), windows, undefined, runs, dict(members), notes)
    return leave_out_disagreeing_scores(merge_equal_methods(table))


def windows_of(runs: Sequence[FinishedRun], notes: list[str]) -> pd.Series:
    """Return how many windows or problems each document has; nothing if runs were scored on others."""
    first: NDArray[np.int64] | None = None
    for run in runs:
        documents = document_numbers(run)
        if documents is None or (first is not None and not np.array_equal(documents, first)):
            notes.append(f"{run.folder.name} was scored on different windows: intervals are over seeds only.")
            return pd.Series(dtype=float)
        first = documents
    return pd.Series(first, dtype="int64").value_counts().sort_index().astype(float)


def document_numbers(run: FinishedRun) -> NDArray[np.int64] | None:
    """Return the document of each window, or of each problem."""
    numbers = run.documents.get(ANSWERS if any(row.is_answer for row in run.rows) else "document")
    return None if numbers is None else numbers.astype(np.int64)


def document_scores(
    runs: Sequence[FinishedRun], variants: Sequence[dict[str, tuple[str, str]]], windows: pd.Series
) -> Iterator[tuple[tuple[object, ...], NDArray[np.float64]]]:
    """Yield the mean scores of each document by the key of their row."""
    for run, variant in zip(runs, variants, strict=True) if len(windows) else ():
        numbers = document_numbers(run)
        place = np.searchsorted(windows.index, numbers if numbers is not None else [])
        for name, scores in run.documents.items():
            parts = name.split("|")
            if len(parts) > 2 and parts[2].isdigit() and scores.shape == place.shape and parts[0] in variant:
                extension, protocol, length, metric = [*parts, "loss"][:4]
                means = np.bincount(place, scores, len(windows)) / windows.to_numpy()
                yield (*variant[extension], protocol, metric, int(length), run.seed), means


def leave_out_disagreeing_scores(table: Table) -> Table:
    """Return the table with the scores of protocols and metrics whose values are all means of scores."""
    known, windows = table.values[np.isfinite(table.values)], table.windows
    means = ((table.scores * windows).sum(axis=1) / windows.sum()).reindex(known.index)
    agrees = pd.Series(np.isclose(means.to_numpy(float), known, rtol=1e-3), known.index)
    found, notes = agrees.groupby(level=["protocol", "metric"]).all(), list(table.notes)
    for protocol, metric in found.index[~found] if len(windows) else ():
        is_part = is_partial(protocol) or protocol.startswith(DEPTH) or protocol == ONCE
        if not is_part and (metric == "loss" or (protocol == ANSWERS and metric not in COSTS)):
            trouble = f"{metric} per document is missing, or disagrees with the rows of a run"
            notes.append(f"{protocol}: {trouble}: intervals are over seeds only.")
    pairs = table.scores.index.droplevel(["method", "extension", "length", "seed"])
    return replace(table, scores=table.scores[pairs.isin(found.index[found])], notes=notes)


def merge_equal_methods(table: Table) -> Table:
    """Return the table with one line for methods whose losses are all equal (accuracies may be by chance)."""
    levels = table.scores.index.get_level_values
    alike = equal_methods(table.scores[(levels("extension") == "none") & (levels("metric") == "loss")])
    names = {methods[0]: " = ".join(methods) for methods in alike}
    dropped = [method for methods in alike for method in methods[1:]]

    def merge(part: Any) -> Any:
        return part.drop(dropped, level="method").rename(index=names, level="method").sort_index()

    same = "In this model they are the same function, with identical scores"
    return table if not names else replace(
        table,
        values=merge(table.values), scores=merge(table.scores), undefined=merge(table.undefined),
        members={names.get(n, n): runs for n, runs in table.members.items() if n not in dropped},
        notes=[*table.notes, *(f"{name}: {same}." for name in names.values())],
    )  # fmt: skip
