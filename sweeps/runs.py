"""Finished runs: their record, their rows and their scores, from their folders or from an archive."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import TypeAdapter

from conf.errors import UsageError
from train.results.about import About, about_run
from train.results.rows import Row, read_rows

ROWS, SCORES, RUNS = "rows.parquet", "scores.parquet", "runs.parquet"  # the files of an archive
FOLDER = re.compile(r"(?!\.\.?$)[^/\\\x00-\x1f]+")  # a name that leads nowhere else
Documents = dict[str, NDArray[np.float64]]  # scores by window
TRAINING = ("model", "encoding", "optimizer", "trainer", "batch", "objective")  # settings that make a method
NOT_RESULT = {
    "_target_", "family", "devices", "num_nodes", "strategy", "accelerator", "threads", "log_every",
    "checkpoint_every", "keep",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """A training and its evaluations."""

    folder: Path
    about: About
    rows: list[Row]
    documents: Documents

    @property
    def encoding(self) -> str:
        return self.about.encoding

    @property
    def seed(self) -> int:
        return self.about.seed

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Return the content of run.json, flattened: settings.model.width -> 128; a list is text."""
        return dict(flatten(self.about.model_dump(exclude_unset=True)))

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Return the settings of the training besides data and seed."""
        every = {key.removeprefix("settings."): value for key, value in self.facts.items() if "." in key}
        parts = {key: key.split(".") for key in every}
        return {key: every[key] for key, p in parts.items() if p[0] in TRAINING and p[-1] not in NOT_RESULT}

    @property
    def trained_tokens(self) -> int | None:
        """Return the number of tokens that the weights were trained on; None for a checkpoint of others, and
        if a task counts lengths in another unit, as steps then differ in tokens."""
        sizes = [self.settings.get(key) for key in ("trainer.max_steps", "batch", "model.length")]
        steps, batch, length = (size if isinstance(size, int) else 0 for size in sizes)
        if not steps * batch * length or length != self.rows[0].trained_length:
            return None
        return round((self.facts.get("settings.checkpoint") or 1.0) * steps) * batch * length


def load_run(place: Path) -> FinishedRun:
    """Return the content of a run folder. Raise UsageError, with its name, if a file cannot be read."""
    file = place / "results.jsonl"
    rows = read_rows(file)
    if not rows or min(min(row.length, row.trained_length) for row in rows) < 1:
        fault = "has a length below 1" if rows else "is empty"
        raise UsageError(f"{file} {fault}: delete its folder and run again.")
    return FinishedRun(place, about_run(place), rows, read_documents(place / "documents.npz"))


def read_documents(file: Path) -> Documents:
    """Return the scores by window."""
    try:
        with np.load(file) as content:
            arrays = dict(content)
        if any(values.ndim != 1 or values.dtype.kind not in "iuf" for values in arrays.values()):
            raise UsageError("not scores")
        return arrays
    except Exception as error:  # a broken archive raises any of a dozen kinds
        raise UsageError(f"{file} is damaged: delete its folder and run again.") from error


def archived_runs(archive: Path) -> Iterator[FinishedRun]:
    """Yield the runs of an archive, as if it contained their folders."""
    if not (archive / ROWS).is_file():
        raise FileNotFoundError(f"There is no archive in {archive}: no {ROWS}.")
    try:
        rows, scores, runs = (pd.read_parquet(archive / name) for name in (ROWS, SCORES, RUNS))
        rows = rows.astype(object).where(rows.notna(), None)
        rows_of: dict[str, list[Row]] = {}
        for row in TypeAdapter(list[Row]).validate_json(json.dumps(rows.to_dict("records"))):
            rows_of.setdefault(row.run, []).append(row)
        documents_of: dict[str, Documents] = {}
        for run, name, is_whole, values in scores.itertuples(index=False, name=None):
            documents_of.setdefault(run, {})[name] = np.asarray(values, "int64" if is_whole else "float64")
        for run, _, about in runs[["run", "id", "about"]].itertuples(index=False, name=None):
            if not FOLDER.fullmatch(run):
                raise ValueError(f"{run!r} is no name of a folder")
            record = About.model_validate_json(about)
            yield FinishedRun(archive / run, record, rows_of[run], documents_of[run])
    except (ValueError, KeyError, OSError) as error:
        raise UsageError(f"The archive {archive} is damaged: make it again.") from error


def flatten(nested: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values of nested dicts, with keys joined by dots."""
    for key, value in nested.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, str(value) if isinstance(value, list) else value
