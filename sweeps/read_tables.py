"""The tables of a sweep, from its finished runs: which runs are comparable, and which of them count."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conf.errors import UsageError
from sweeps.methods import extension_names, method_names
from sweeps.results import SweepResults
from sweeps.runs import FinishedRun
from sweeps.table import COSTS, INDEX, Table
from train.results.gain import FAIR_CONTROLS
from train.results.protocols import is_partial
from train.results.rows import ANSWERS, DEPTH, ONCE

SEEDS_ONLY = "intervals are over seeds only."  # ends the note on scores of documents that are lost
Variants = dict[str, tuple[str, str]]  # an extension in the rows of a run -> method, extension


def only_table(sweep: SweepResults) -> Table:
    """Return the table of losses of a sweep. Raise UsageError if there is none, or several."""
    found = [table for table in read_tables(sweep) if table.main and table.main[1] == "loss"]
    if len(found) != 1:
        several = "Runs in {} differ in data or training length: name a folder whose runs do not."
        raise UsageError((several if found else "No run in {} has a loss.").format(sweep.folder))
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
    variants = variants_of(runs)
    cells: dict[tuple[object, ...], tuple[float, bool]] = {}
    members: dict[str, list[FinishedRun]] = defaultdict(list)
    for run, variant in zip(runs, variants, strict=True):
        for row in run.rows:
            key = (*variant[row.extension], row.protocol, row.metric, row.length, run.seed)
            is_undefined = row.value is None and not row.sequences
            cells[key] = np.nan if row.value is None else row.value, is_undefined
        for method in dict.fromkeys(method for method, _ in variant.values()):
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


def variants_of(runs: list[FinishedRun]) -> list[Variants]:
    """Return what each extension in the rows of each run is in the table. A method without any rows of its
    own is called by its extension as well: rope + yarn."""
    names = method_names(runs)
    plain = {
        name for name, run in zip(names, runs, strict=True) if "none" in {row.extension for row in run.rows}
    }
    variants = []
    for run, name, (chosen, label) in zip(runs, names, extension_names(runs, names), strict=True):
        labels = {row.extension: label if row.extension == chosen else row.extension for row in run.rows}
        variants.append(
            {e: (name, text) if name in plain else (f"{name} + {text}", "none") for e, text in labels.items()}
        )
    return variants


def newest_runs(runs: list[FinishedRun]) -> tuple[list[FinishedRun], list[str]]:
    """Return the runs of the newest training of each method and seed, and a sentence for each older one."""
    trainings: dict[tuple[str, int], dict[str, list[FinishedRun]]] = defaultdict(lambda: defaultdict(list))
    for run, name in zip(runs, method_names(runs), strict=True):
        trainings[name, run.seed][run.about.training].append(run)
    kept, notes = set(), []
    for (name, seed), alike in trainings.items():
        *older, newest = sorted(alike.values(), key=lambda members: max(run.about.started for run in members))
        kept |= {run.folder for run in newest}
        if older:
            which = f"the newest of {len(alike)} trainings, which differ in code, packages or precision"
            left = ", ".join(run.folder.name for members in older for run in members)
            notes.append(f"{name}, seed {seed}: {which}; left out: {left}.")
    return [run for run in runs if run.folder in kept], notes


def windows_of(runs: Sequence[FinishedRun], notes: list[str]) -> pd.Series:
    """Return how many windows or problems each document has; nothing if runs were scored on others."""
    numbers = [document_numbers(run) for run in runs]
    for run, documents in zip(runs, numbers, strict=True):
        if not len(documents) or not np.array_equal(documents, numbers[0]):
            notes.append(f"{run.folder.name} was scored on different windows: {SEEDS_ONLY}")
            return pd.Series(dtype=float)
    return pd.Series(numbers[0]).value_counts().sort_index().astype(float)


def document_numbers(run: FinishedRun) -> NDArray[np.int64]:
    """Return the document of each window, or of each problem; nothing if they were not kept."""
    kind = ANSWERS if any(row.is_answer for row in run.rows) else "document"
    return np.asarray(run.documents.get(kind, []), np.int64)


def document_scores(
    runs: Sequence[FinishedRun], variants: Sequence[Variants], windows: pd.Series
) -> Iterator[tuple[tuple[object, ...], NDArray[np.float64]]]:
    """Yield the mean scores of each document by the key of their row."""
    for run, variant in zip(runs, variants, strict=True) if len(windows) else ():
        place = np.searchsorted(windows.index, document_numbers(run))
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
            notes.append(f"{protocol}: {trouble}: {SEEDS_ONLY}")
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
    table = replace(table, notes=[*table.notes, *equal_extensions(table.scores)])
    return table if not names else replace(
        table,
        values=merge(table.values), scores=merge(table.scores), undefined=merge(table.undefined),
        members={names.get(n, n): runs for n, runs in table.members.items() if n not in dropped},
        notes=[*table.notes, *(f"{name}: {same}." for name in names.values())],
    )  # fmt: skip


def equal_extensions(scores: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence on extensions of a method whose losses are all equal."""
    losses = scores[scores.index.get_level_values("metric") == "loss"]
    losses = losses.droplevel("metric").drop(list(FAIR_CONTROLS), level="extension", errors="ignore")
    for method, of_method in losses.groupby(level="method"):
        alike: dict[tuple[object, ...], list[str]] = {}
        for name, part in of_method.droplevel("method").groupby(level="extension"):
            key = (*part.index.droplevel("extension"), part.to_numpy().tobytes())
            alike.setdefault(key, []).append("no extension" if name == "none" else str(name))
        for names in (names for names in alike.values() if len(names) > 1):
            yield f"{method}, {' = '.join(names)}: the same function here, with identical scores."


def equal_methods(losses: pd.DataFrame) -> list[list[str]]:
    """Return the methods that are one function, together, the one with most seeds first, from losses by
    method and seed: on the seeds that they share, all of them are equal."""
    contents: dict[str, dict[int, bytes]] = defaultdict(dict)
    for (method, seed), scores in losses.groupby(level=["method", "seed"]):
        contents[method][seed] = scores.to_numpy().tobytes()

    def is_equal(first: str, other: str) -> bool:
        shared = contents[first].keys() & contents[other].keys()
        return bool(shared) and all(contents[first][seed] == contents[other][seed] for seed in shared)

    alike: dict[str, list[str]] = {}
    for method in sorted(contents, key=lambda name: (-len(contents[name]), name)):
        alike.setdefault(next((name for name in alike if is_equal(name, method)), method), []).append(method)
    return [methods for methods in alike.values() if len(methods) > 1]
