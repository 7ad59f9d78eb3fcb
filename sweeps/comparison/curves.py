"""Rows as arrays: one metric of one protocol for every method, extension, length and seed."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sweeps.comparison.records import FULL, NOT_FINITE, SKIPPED, UNDEFINED, Estimate, Gaps, Values
from sweeps.methods import extension_labels, labels, newest_runs
from sweeps.old_statistics import FEWEST_DOCUMENTS, Array, Interval, by_document, interval
from sweeps.results import FinishedRun
from train.results.protocols import is_partial
from train.results.rows import ANSWERS, CHANCE, DEPTH, OUT_OF_MEMORY

Variant = tuple[str, str]  # method, extension
Cell = tuple[Variant, int, int]  # variant, length, seed
Cells = dict[tuple[str, str], dict[Cell, float]]  # (protocol, metric) -> cell -> value
Documents = dict[tuple[str, str, Variant, int, int], Array]  # (protocol, metric, *cell) -> of each window

# what is no score: nothing to rank methods by
BESIDE = ("tokens_per_second", "peak_memory", "seconds", CHANCE, OUT_OF_MEMORY)


@dataclass(frozen=True)
class Curves:
    """Samples with the axes V variants, T lengths, S seeds, D documents."""

    variants: list[Variant]
    lengths: list[int]
    seeds: list[int]
    values: Array  # (V, T, S), nan where there is no value
    samples: Array  # (V, T, S, D): the sum over each document's windows; D = 1 where only the means are known
    counts: Array  # (D,)

    def at(self, variants: list[Variant], lengths: list[int] | None = None) -> Array:
        """Return samples (V, T, S, D) of these variants and lengths; nan for missing variants."""
        place = {variant: number for number, variant in enumerate(self.variants)}
        missing = np.full(self.samples.shape[1:], np.nan)
        chosen = np.stack([self.samples[place[v]] if v in place else missing for v in variants])
        return chosen if lengths is None else chosen[:, [self.lengths.index(length) for length in lengths]]

    def of(self, methods: list[str], lengths: list[int] | None = None) -> Array:
        """Return samples (V, T, S, D) of methods without extension."""
        return self.at([(name, "none") for name in methods], lengths)

    def interval(self, samples: Array, pool: bool = False) -> Interval:
        return interval(samples, self.counts, pool)

    @property
    def over(self) -> str:
        """Return what the intervals are over: seeds and documents, one of them, or nothing."""
        is_enough = {"seeds": len(self.seeds) > 1, "documents": len(self.counts) >= FEWEST_DOCUMENTS}
        return " and ".join(name for name, enough in is_enough.items() if enough)


class Group:
    """The runs that may be compared: with the same data and training length, and either text or answers."""

    def __init__(self, runs: list[FinishedRun]) -> None:
        runs, older = newest_runs(runs)
        first = runs[0].rows[0]
        self.runs, self.data, self.trained = runs, first.data, first.trained_length
        self.answers = any(row.is_answer for run in runs for row in run.rows)
        self.names = labels(runs)
        self.members: dict[str, list[FinishedRun]] = defaultdict(list)  # the runs of each method
        self.cells: Cells = defaultdict(dict)
        self.undefined: set[tuple[str, Variant, int]] = set()  # where a run said that there is nothing
        self.notes = older
        extended = extension_labels(runs, self.names)
        each = list(zip(runs, self.names, strict=True))
        plain = {name for run, name in each if any(row.extension == "none" for row in run.rows)}
        self.variant: dict[tuple[int, str], Variant] = {}
        for number, (run, name) in enumerate(each):
            for row in run.rows:
                extension = extended.get((number, row.extension), row.extension)
                variant = (name, extension) if name in plain else (f"{name} + {extension}", "none")
                self.variant[number, row.extension] = variant
                value = np.nan if row.value is None else row.value
                self.cells[row.protocol, row.metric][variant, row.length, run.seed] = value
                if row.value is None and not row.sequences:
                    self.undefined.add((row.protocol, variant, row.length))
            for method in dict.fromkeys(self.variant[number, row.extension][0] for row in run.rows):
                self.members[method].append(run)
        self.windows, self.documents = self.read_documents()

    def read_documents(self) -> tuple[NDArray[np.int64] | None, Documents]:
        """Return the document of each window or problem, and its scores; nothing if runs were scored on
        different windows."""
        windows: NDArray[np.int64] | None = None
        documents: Documents = {}
        for number, run in enumerate(self.runs):
            content = dict(run.documents)
            entries = content.pop(ANSWERS if self.answers else "document", None)
            if entries is None or not np.array_equal(entries, entries if windows is None else windows):
                self.notes.append(
                    f"{run.folder.name} was scored on different windows: intervals are over seeds only."
                )
                return None, {}
            windows = entries.astype(np.int64)
            for key, scores in content.items():
                parts = key.split("|")
                if len(parts) < 3 or not parts[2].isdigit() or scores.shape != entries.shape:
                    continue
                extension, protocol, length, metric = [*parts, "loss"][:4]
                if variant := self.variant.get((number, extension)):
                    documents[protocol, metric, variant, int(length), run.seed] = scores
        return windows, documents

    def gaps(self, protocol: str, metric: str) -> Gaps:
        """Return the lengths without a value, by reason and method; for extensions, those without memory."""
        gaps: Gaps = {FULL: {}, SKIPPED: {}, UNDEFINED: {}, NOT_FINITE: {}}
        full = {cell[:2] for key, cells in self.cells.items() if key[1] == OUT_OF_MEMORY for cell in cells}
        for (method, extension), length in sorted(full):
            name = method if extension == "none" else f"{method} + {extension}"
            gaps[FULL].setdefault(name, []).append(length)
        cells = {key: value for key, value in self.cells[protocol, metric].items() if key[0][1] == "none"}
        lengths = sorted({length for _, length, _ in cells})
        for place in product(sorted({variant for variant, _, _ in cells}), lengths):
            entries = [value for key, value in cells.items() if key[:2] == place]
            if place not in full and not np.isfinite(entries).any():
                undefined = (protocol, *place) in self.undefined
                reason = SKIPPED if not entries else UNDEFINED if undefined else NOT_FINITE
                gaps[reason].setdefault(place[0][0], []).append(place[1])
        return {reason: entries for reason, entries in gaps.items() if entries}

    def curves(self, protocol: str, metric: str) -> Curves:
        cells = self.cells[protocol, metric]
        variants = sorted({variant for variant, _, _ in cells})
        lengths = sorted({length for _, length, _ in cells})
        seeds = sorted({seed for _, _, seed in cells})
        at = {key: (variants.index(key[0]), lengths.index(key[1]), seeds.index(key[2])) for key in cells}
        values = np.full([len(variants), len(lengths), len(seeds)], np.nan)
        for key, value in cells.items():
            values[at[key]] = value
        samples, counts = values[..., None], np.ones(1)
        scored = metric == "loss" or (protocol == ANSWERS and metric not in BESIDE)
        if scored and self.windows is not None and self.is_documented(protocol, metric, cells):
            by_window = np.full([*values.shape, len(self.windows)], np.nan)
            for key, value in cells.items():
                if np.isfinite(value):
                    by_window[at[key]] = self.documents[protocol, metric, *key]
            samples, counts = by_document(by_window, self.windows)
        return Curves(variants, lengths, seeds, values, samples, counts)

    def is_documented(self, protocol: str, metric: str, cells: dict[Cell, float]) -> bool:
        """Return whether every value has scores by document that average to it."""
        for (variant, length, seed), value in cells.items():
            scores = self.documents.get((protocol, metric, variant, length, seed))
            if not np.isfinite(value) or (scores is not None and np.isclose(scores.mean(), value, rtol=1e-3)):
                continue
            noun = f"{'losses' if metric == 'loss' else metric} per document"
            trouble = f"no {noun}" if scores is None else f"{noun} that disagree with its rows"
            where = f"{protocol}: {variant[0]}, seed {seed}, has {trouble} at {length} tokens"
            parts = is_partial(protocol) or protocol.startswith(DEPTH)  # of what others are about
            if not parts and not any(note.startswith(f"{protocol}:") for note in self.notes):
                self.notes.append(f"{where}: intervals are over seeds only.")
            return False
        return True


def estimates(intervals: Interval) -> list[Estimate]:
    """Return an estimate for each row of intervals (V, T)."""
    rows = zip(intervals.value, intervals.low, intervals.high, strict=True)
    return [Estimate(*map(plain_values, row)) for row in rows]


def plain_values(values: Array) -> Values:
    """Return a list with six digits, and None for values that are not finite, as JSON needs."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
