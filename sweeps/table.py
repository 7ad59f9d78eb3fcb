"""The table of a sweep: all scores, by method, extension, protocol, metric, length, seed and document.

A row of `values` is a number of a run; a row of `scores` has the same index and a column for each document.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from sweeps.runs import FinishedRun
from sweeps.statistics import FEWEST_DOCUMENTS
from train.results.protocols import is_partial
from train.results.rows import ANSWERS, CHANCE, ONCE
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
    def held_out(self) -> str:
        """Return what names the evaluated text: its documents, size and tokens; or the corpus."""
        return self.runs[0].about.corpus_description.partition("held out: ")[2] or self.corpus

    @property
    def targets(self) -> tuple[str, str, int, int]:
        """Return what determines the scored tokens: the data, the evaluated text, the training length and the
        longest length, whose last tokens they are."""
        longest = max(int(n) for n in self.values.index.get_level_values("length"))
        return self.data, self.held_out, self.trained, longest

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
        return rows_where(self.values, protocol=protocol, metric=metric)

    def sample(self, protocol: str, metric: str) -> pd.DataFrame:
        """Return the scores by method, extension, length and seed (rows) and by document (columns). Without
        scores of every document that agree with the values, there is one column, the value."""
        values = self.value(protocol, metric)
        scores = rows_where(self.scores, protocol=protocol, metric=metric)
        if not len(scores):
            return values.to_frame(-1)
        return scores.reindex(values.index[values.notna()]).reindex(values.index)

    @property
    def over(self) -> str:
        """Return what the intervals of the ranking are over: seeds and documents, one of them, or nothing."""
        assert self.main is not None
        sample = self.sample(*self.main)
        seeds = sample.index.get_level_values("seed").nunique()
        is_enough = {"seeds": seeds > 1, "documents": sample.shape[1] >= FEWEST_DOCUMENTS}
        return " and ".join(name for name, enough in is_enough.items() if enough)


def rows_where(part: Any, **levels: object) -> Any:
    """Return the rows that have these values in levels of the index, without those levels; maybe none."""
    for level, value in levels.items():
        part = part[part.index.get_level_values(level) == value].droplevel(level)
    return part


def variant_name(method: str, extension: str) -> str:
    """Return the name of a method under an extension."""
    return method if extension == "none" else f"{method} + {extension}"
