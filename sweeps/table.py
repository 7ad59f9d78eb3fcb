"""The table of a sweep: all scores, by method, extension, protocol, metric, length, seed and document.

A row of `values` is a number of a run; a row of `scores` has the same index and a column for each document.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conf.errors import UsageError
from sweeps.methods import extension_labels, is_window, labels, newest_runs
from sweeps.results import FinishedRun, Sweep
from sweeps.statistics import FEWEST_DOCUMENTS
from train.results.protocols import is_partial
from train.results.rows import ANSWERS, CHANCE, DEPTH, ONCE
from train.results.run_folder import OUT_OF_MEMORY

INDEX = ["method", "extension", "protocol", "metric", "length", "seed"]
COSTS = ("tokens_per_second", "peak_memory", "seconds", CHANCE, OUT_OF_MEMORY)  # nothing to rank methods by
HIGHER_IS_BETTER = ("accuracy", "exact_match", "margin", "tokens_per_second")
FULL, UNDEFINED, NOT_FINITE, SKIPPED = "out of memory", "undefined", "not finite", "not evaluated"


@dataclass(frozen=True, eq=False)
class Table:
    """The scores of runs with the same data and training length, and either text or answers."""

    values: pd.Series  # by INDEX; nan where there is no value
    scores: pd.DataFrame  # by INDEX, a column for each document: the mean of its windows
    windows: pd.Series  # the number of windows of each document
    undefined: pd.Index  # of `values`: where a method has no value by its definition
    runs: list[FinishedRun]
    members: dict[str, list[FinishedRun]]  # the runs of each method
    notes: list[str] = field(default_factory=list)

    @property
    def data(self) -> str:
        return self.runs[0].rows[0].data

    @property
    def corpus(self) -> str:
        return self.runs[0].rows[0].corpus

    @property
    def trained(self) -> int:
        """Return the training length."""
        return self.runs[0].rows[0].trained_length

    @property
    def is_answers(self) -> bool:
        return any(row.is_answer for run in self.runs for row in run.rows)

    @cached_property
    def measured(self) -> list[tuple[str, str]]:
        """Return the protocols and their metrics, without costs, those that rank methods first."""
        pairs = self.values.index.droplevel(["method", "extension", "length", "seed"]).unique()
        return sorted(
            (p for p in pairs if p[0] != ONCE and p[1] not in (CHANCE, OUT_OF_MEMORY)), key=importance
        )

    @property
    def main(self) -> tuple[str, str] | None:
        """Return the protocol and metric that rank methods: the loss under same_tokens, or the accuracy of
        all answers."""
        ranking = [pair for pair in self.measured if not is_partial(pair[0]) and pair[1] not in COSTS]
        return ranking[0] if ranking else None

    def has(self, protocol: str, metric: str) -> bool:
        return (protocol, metric) in self.measured

    def value(self, protocol: str, metric: str) -> pd.Series:
        """Return the values of a protocol and a metric by method, extension, length and seed."""
        if not (
            (self.values.index.get_level_values("protocol") == protocol)
            & (self.values.index.get_level_values("metric") == metric)
        ).any():
            return pd.Series(
                dtype=float, index=pd.MultiIndex.from_arrays([[]] * 4, names=[*INDEX[:2], *INDEX[4:]])
            )
        return self.values.xs((protocol, metric), level=("protocol", "metric"))

    def sample(self, protocol: str, metric: str) -> pd.DataFrame:
        """Return the scores by method, extension, length and seed (rows) and by document (columns). Without
        scores of every document that agree with the values, there is one column, the value."""
        values = self.value(protocol, metric)
        if (protocol, metric) in self.documented:
            scores = self.scores.xs((protocol, metric), level=("protocol", "metric"))
            return scores.reindex(values.index[values.notna()]).reindex(values.index)
        return values.to_frame(-1)

    @cached_property
    def documented(self) -> set[tuple[str, str]]:
        """Return the protocols and metrics whose every value has scores by document that average to it."""
        known = self.values[np.isfinite(self.values)]
        means = (self.scores * self.windows).sum(axis=1) / self.windows.sum()
        agrees = np.isclose(means.reindex(known.index).to_numpy(float), known, rtol=1e-3)
        found = pd.Series(agrees, known.index).groupby(level=["protocol", "metric"]).all()
        for protocol, metric in found.index[~found]:
            is_part = is_partial(protocol) or protocol.startswith(DEPTH)
            is_scored = (metric == "loss" and protocol != ONCE) or (
                protocol == ANSWERS and metric not in COSTS
            )
            if is_scored and not is_part and len(self.windows):
                trouble = f"{metric} per document is missing, or disagrees with the rows of a run"
                self.notes.append(f"{protocol}: {trouble}: intervals are over seeds only.")
        return set(found.index[found])

    @property
    def over(self) -> str:
        """Return what the intervals of the ranking are over: seeds and documents, one of them, or nothing."""
        if self.main is None:
            return ""
        sample = self.sample(*self.main)
        seeds = sample.index.get_level_values("seed").nunique()
        is_enough = {"seeds": seeds > 1, "documents": sample.shape[1] >= FEWEST_DOCUMENTS}
        return " and ".join(name for name, enough in is_enough.items() if enough)

    def gaps(self, protocol: str, metric: str) -> dict[str, dict[str, list[int]]]:
        """Return the lengths without a value, by reason and method; for extensions, those without memory."""
        gaps: dict[str, dict[str, list[int]]] = {FULL: {}, SKIPPED: {}, UNDEFINED: {}, NOT_FINITE: {}}
        metrics = self.values.index.get_level_values("metric")
        full = {key[:2] + key[4:5] for key in self.values.index[metrics == OUT_OF_MEMORY]}
        for method, extension, length in sorted(full):
            gaps[FULL].setdefault(variant_name(method, extension), []).append(length)
        plain = self.value(protocol, metric).xs("none", level="extension")
        every = plain.index.get_level_values("length").unique().sort_values()
        for method, values in plain.groupby(level="method"):
            evaluated = values.groupby(level="length").max()  # nan if no seed has a value
            for length in every:
                if (method, "none", length) not in full and not np.isfinite(evaluated.get(length, np.nan)):
                    undefined = any(
                        (method, "none", protocol, metric, length, s) in self.undefined
                        for s in plain.index.get_level_values("seed").unique()
                    )
                    reason = SKIPPED if length not in evaluated else UNDEFINED if undefined else NOT_FINITE
                    gaps[reason].setdefault(method, []).append(int(length))
        return {reason: entries for reason, entries in gaps.items() if entries}


def variant_name(method: str, extension: str) -> str:
    """Return the name of a method under an extension."""
    return method if extension == "none" else f"{method} + {extension}"


def importance(pair: tuple[str, str]) -> tuple[bool, bool, tuple[str, str]]:
    """Return the key that sorts protocols and metrics."""
    return pair[0] not in ("same_tokens", ANSWERS), pair[1] not in ("loss", "accuracy"), pair


def read_tables(sweep: Sweep) -> list[Table]:
    """Return the table of each group of runs that may be compared: by data, corpus and training length; text
    and answers are separate."""
    alike: dict[tuple[str, str, int, bool], list[FinishedRun]] = {}
    for run in sweep.runs:
        kinds = {row.is_answer for row in run.rows if row.protocol != ONCE}
        for answers in kinds or {False}:
            rows = [row for row in run.rows if row.protocol == ONCE or row.is_answer == answers]
            key = rows[0].data, rows[0].corpus, rows[0].trained_length, answers
            alike.setdefault(key, []).append(replace(run, rows=rows))
    return [read_table(runs) for _, runs in sorted(alike.items())]


def read_table(runs: list[FinishedRun]) -> Table:
    """Return the table of runs that may be compared. Of several trainings of a method and a seed, the newest
    counts."""
    runs, notes = newest_runs(runs)
    names = labels(runs)
    extended = extension_labels(runs, names)
    plain = {
        n for run, n in zip(runs, names, strict=True) if any(row.extension == "none" for row in run.rows)
    }
    values: dict[tuple[object, ...], float] = {}
    undefined, members = [], defaultdict(list)
    variants: list[dict[str, tuple[str, str]]] = []
    for number, (run, name) in enumerate(zip(runs, names, strict=True)):
        variant = {}
        for row in run.rows:
            extension = extended.get((number, row.extension), row.extension)
            variant[row.extension] = (name, extension) if name in plain else (f"{name} + {extension}", "none")
            key = (*variant[row.extension], row.protocol, row.metric, row.length, run.seed)
            values[key] = np.nan if row.value is None else row.value
            if row.value is None and not row.sequences:
                undefined.append(key)
        for method in dict.fromkeys(method for method, _ in variant.values()):
            members[method].append(run)
        variants.append(variant)
    index = pd.MultiIndex.from_tuples(values, names=INDEX)
    windows = windows_of(runs, notes)
    scores = pd.DataFrame.from_dict(
        dict(scored(runs, variants, windows)), orient="index", columns=windows.index, dtype=float
    )
    scores.index = pd.MultiIndex.from_tuples(scores.index, names=INDEX) if len(scores) else index[:0]
    whole = Table(
        pd.Series(list(values.values()), index, dtype=float).sort_index(),
        scores.sort_index(),
        windows,
        pd.Index(undefined, tupleize_cols=False),
        runs,
        dict(members),
        notes,
    )
    return merge_equal_methods(whole)


def windows_of(runs: Sequence[FinishedRun], notes: list[str]) -> pd.Series:
    """Return how many windows or problems each document has; nothing if runs were scored on different
    ones."""
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


def scored(
    runs: Sequence[FinishedRun], variants: Sequence[dict[str, tuple[str, str]]], windows: pd.Series
) -> Iterator[tuple[tuple[object, ...], NDArray[np.float64]]]:
    """Yield the mean scores of each document by the key of their row."""
    if windows.empty:
        return
    for run, variant in zip(runs, variants, strict=True):
        numbers = document_numbers(run)
        place = np.searchsorted(windows.index, numbers if numbers is not None else [])
        for name, scores in run.documents.items():
            parts = name.split("|")
            if len(parts) > 2 and parts[2].isdigit() and scores.shape == place.shape and parts[0] in variant:
                extension, protocol, length, metric = [*parts, "loss"][:4]
                means = np.bincount(place, scores, len(windows)) / windows.to_numpy()
                yield (*variant[extension], protocol, metric, int(length), run.seed), means


def merge_equal_methods(table: Table) -> Table:
    """Return the table with one line for methods that are one function: on the seeds that they share, all
    of their losses are equal (accuracies may be by chance). The one with most seeds stays."""
    if not len(table.scores):
        return table
    contents: dict[str, dict[int, bytes]] = defaultdict(dict)
    levels = table.scores.index.get_level_values
    plain = table.scores[(levels("extension") == "none") & (levels("metric") == "loss")]
    for (method, seed), scores in plain.groupby(level=["method", "seed"]):
        contents[method][seed] = scores.to_numpy().tobytes()
    renamed: dict[str, list[str]] = {}
    for method, content in sorted(contents.items(), key=lambda item: (-len(item[1]), item[0])):
        equal = (name for name in renamed if is_equal(contents[name], content))
        renamed.setdefault(next(equal, method), []).append(method)
    names = {method: " = ".join(alike) for method, alike in renamed.items() if len(alike) > 1}
    if not names:
        return table
    dropped = [method for alike in renamed.values() for method in alike[1:]]
    same = "In this model they are the same function, with identical scores"
    return replace(
        table,
        values=rename_methods(table.values.drop(dropped, level="method"), names),
        scores=rename_methods(table.scores.drop(dropped, level="method"), names),
        members={names.get(n, n): runs for n, runs in table.members.items() if n not in dropped},
        notes=[*table.notes, *(f"{name}: {same}." for name in names.values())],
    )


def is_equal(content: dict[int, bytes], other: dict[int, bytes]) -> bool:
    """Return whether the scores of all seeds that two methods share are equal."""
    shared = content.keys() & other.keys()
    return bool(shared) and all(content[seed] == other[seed] for seed in shared)


def rename_methods(part: Any, names: dict[str, str]) -> Any:
    return part.rename(index=names, level="method").sort_index()


def only_table(sweep: Sweep, metric: str = "loss") -> Table:
    """Return the table of a sweep that has a metric. Raise UsageError if none has, or several."""
    found = [table for table in read_tables(sweep) if table.main and table.main[1] == metric]
    if len(found) != 1:
        several = "Runs in {} differ in data or training length: name a folder whose runs do not."
        raise UsageError((several if found else "No run in {} has a " + metric + ".").format(sweep.folder))
    return found[0]


def is_bounded(table: Table, method: str) -> bool:
    """Return whether a method sees no further than its training length by construction."""
    return is_window(method, table.members[method][0])
