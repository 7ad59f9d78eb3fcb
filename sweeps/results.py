"""The results of a sweep: the rows of finished runs, and the jobs without results.

All readers use `load_sweep`, so that damaged runs are left out, and named, everywhere. An archive
(`sweeps.archive`) reads like the folder that it was made from.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import TypeAdapter

from conf.errors import UsageError, printable
from train.results.about import About, about_run
from train.results.rows import Row, read_rows

ROWS, SCORES, RUNS = "rows.parquet", "scores.parquet", "runs.parquet"  # the files of an archive
OUTCOMES = UNFINISHED, FAILED, UNREADABLE = "have no results yet", "failed", "cannot be read"
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
        """Return the content of run.json, flattened: settings.model.width -> 128."""
        return flatten(self.about.model_dump(exclude_unset=True))

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Return the settings of the training besides data and seed."""
        every = {key.removeprefix("settings."): value for key, value in self.facts.items() if "." in key}
        parts = {key: key.split(".") for key in every}
        return {key: every[key] for key, p in parts.items() if p[0] in TRAINING and p[-1] not in NOT_RESULT}

    @property
    def trained_tokens(self) -> int | None:
        """Return the number of tokens that the weights were trained on; None if a task counts lengths in
        another unit, as steps then differ in tokens."""
        sizes = [self.settings.get(key) for key in ("trainer.max_steps", "batch", "model.length")]
        steps, batch, length = (size if isinstance(size, int) else 0 for size in sizes)
        whole = round((self.facts.get("settings.checkpoint") or 1.0) * steps) * batch * length
        return whole if whole and length == self.rows[0].trained_length else None


@dataclass(frozen=True)
class Failure:
    """A job that did not finish, or whose results cannot be read."""

    outcome: str  # one of OUTCOMES
    name: str
    reason: str
    log: str


@dataclass(frozen=True)
class SweepResults:
    """The jobs of a sweep: finished runs, and jobs without results."""

    folder: Path
    name: str
    command: str = ""
    started: str = ""
    jobs: dict[str, str] = field(default_factory=dict)  # folder -> name
    runs: list[FinishedRun] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def troubles(self) -> dict[str, list[Failure]]:
        """Return the jobs without results by what became of them."""
        every = {outcome: [job for job in self.failures if job.outcome == outcome] for outcome in OUTCOMES}
        return {outcome: jobs for outcome, jobs in every.items() if jobs}


def load_sweep(folder: Path) -> SweepResults:
    """Return the sweep of a folder: also of an archive, of runs without `sweep.json`, or of a single run."""
    if (folder / ROWS).is_file():
        runs = list(archived_runs(folder))
        jobs = {run.folder.name: run.folder.name for run in runs}
        return SweepResults(folder, folder.resolve().name, jobs=jobs, runs=runs)
    sweep = jobs_of(folder)
    for subfolder, name in sweep.jobs.items():
        place = Path(os.path.normpath(folder / subfolder))
        log = path_text(place / "train.log") if (place / "train.log").is_file() else ""
        if not ((place / "DONE").exists() and (place / "results.jsonl").exists()):
            reason, is_error = last_words(place)
            sweep.failures.append(Failure(FAILED if is_error else UNFINISHED, name, reason, log))
            continue
        try:
            sweep.runs.append(load_run(place))
        except (ValueError, OSError) as error:
            sweep.failures.append(Failure(UNREADABLE, name, str(error), log))
    return sweep


def load_readable(folder: Path) -> SweepResults:
    """Return the sweep of a folder, and print which of its runs cannot be read."""
    sweep = load_sweep(folder)
    for failure in sweep.troubles.get(UNREADABLE, []):
        print(f"yardstick: {failure.name} is left out. {failure.reason}", file=sys.stderr)
    return sweep


def jobs_of(folder: Path) -> SweepResults:
    """Return the jobs that `sweep.json` lists; if it is missing or damaged, all runs below the folder."""
    file, notes = folder / "sweep.json", []
    if file.is_file():
        try:
            about = json.loads(file.read_text("utf-8"))
            texts = (str(about.get(key, "")) for key in ("name", "command", "started"))
            name, command, started = map(printable, texts)
            names = {str(job["folder"]): str(job.get("name", job["folder"])) for job in about["jobs"]}
            jobs = {place: printable(text) for place, text in names.items()}
            return SweepResults(folder, name or folder.name, command, started, jobs)
        except (ValueError, KeyError, TypeError, AttributeError):
            notes.append(f"{path_text(file)} is damaged: every run found in its folder is reported.")
    places = sorted(run_folders(folder))
    if not places:
        lack = "no results.jsonl in it or in any folder below it"
        raise UsageError(f"There are no results in {folder}: {lack}.")
    jobs = {str(place.relative_to(folder)): printable(place.name) for place in places}
    return SweepResults(folder, folder.resolve().name, jobs=jobs, notes=notes)


def run_folders(folder: Path) -> Iterator[Path]:
    """Yield every folder below this one that has results, but none inside those."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}: name the folder of a sweep or of a run.")
    for place, inside, files in os.walk(folder, followlinks=True):
        if "results.jsonl" in files:
            inside.clear()
            yield Path(place)


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


def flatten(nested: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested dicts as one, with keys joined by dots; a list becomes text."""
    result: dict[str, Any] = {}
    for key, value in nested.items():
        plain = {prefix + key: str(value) if isinstance(value, list) else value}
        result |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else plain
    return result


def last_words(place: Path) -> tuple[str, bool]:
    """Return the last lines of a job without results, and whether they report an error."""
    if not place.exists():
        return "not started", False
    log = place / "train.log"
    lines = log.read_text("utf-8", errors="replace").split("\n") if log.is_file() else []
    lines = [line.strip() for line in lines if line.strip()]
    errors = [line for line in lines if "Error" in line or line.lower().startswith(("error", "killed"))]
    return printable((errors or lines or ["not finished, and no log"])[-1]), bool(errors)


def path_text(path: Path) -> str:
    """Return a path as a user would type it."""
    relative = os.path.relpath(path)
    return printable(relative if not relative.startswith(os.path.join("..", "..")) else str(path))
