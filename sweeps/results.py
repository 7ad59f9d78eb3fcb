"""The results of a sweep: the runs that finished, with their rows, and the jobs that did not."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conf.errors import UsageError, printable
from sweeps.comparison.records import Failure
from train.results.about import about_run
from train.results.rows import Row, read_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAINING = ("model", "encoding", "optimizer", "trainer", "batch", "objective")  # settings that make a method
NOT_RESULT = {
    "_target_", "family", "devices", "num_nodes", "strategy", "accelerator", "threads", "log_every",
    "checkpoint_every",
}  # fmt: skip
FILES = ("results.jsonl", "documents.npz", "run.json", "DONE", "train.log", "diagnostics.json")  # of a run


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """One training and its evaluations."""

    folder: Path
    encoding: str
    seed: int
    rows: list[Row]
    facts: dict[str, Any]  # run.json, flattened: settings.model.width -> 128
    documents: "dict[str, NDArray[np.float64]]"  # scores by window

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Return the settings that determined the training, beside data and seed."""
        plain_facts = {key.removeprefix("settings."): value for key, value in self.facts.items()}
        parts = {key: key.split(".") for key in plain_facts if key not in TRAINING[:4]}
        return {
            key: plain_facts[key] for key, p in parts.items() if p[0] in TRAINING and p[-1] not in NOT_RESULT
        }


@dataclass(frozen=True)
class ListedJob:
    """A job as `sweep.json` lists it."""

    name: str
    folder: str


@dataclass(frozen=True)
class Sweep:
    """A sweep's jobs: what they left, and which of them left nothing."""

    folder: Path
    name: str
    command: str = ""
    started: str = ""
    jobs: list[ListedJob] = field(default_factory=list)
    runs: list[FinishedRun] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unreadable: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def load_sweep(folder: Path) -> Sweep:
    """Return the sweep of a folder; a folder of runs without `sweep.json` is one too, and so is a single
    run."""
    sweep = jobs_of(folder)
    for job in sweep.jobs:
        place = Path(os.path.normpath(folder / job.folder))
        log = path_text(place / "train.log") if (place / "train.log").is_file() else ""
        if not ((place / "DONE").exists() and (place / "results.jsonl").exists()):
            sweep.failures.append(Failure(job.name, last_words(place), log))
            continue
        try:
            sweep.runs.append(load_run(place))
        except (ValueError, OSError) as error:
            sweep.unreadable.append(Failure(job.name, str(error), log))
    return sweep


def jobs_of(folder: Path) -> Sweep:
    """Return the jobs that `sweep.json` lists; where it does not, or is damaged, all runs below."""
    file, notes = folder / "sweep.json", []
    if file.is_file():
        try:
            about = json_of(file)
            name, command, started = (text_of(about.get(key, "")) for key in ("name", "command", "started"))
            jobs = [
                ListedJob(text_of(job.get("name", job["folder"])), str(job["folder"]))
                for job in about["jobs"]
            ]
            return Sweep(folder, name or folder.name, command, started, jobs)
        except (ValueError, KeyError, TypeError, AttributeError):
            notes.append(f"{path_text(file)} is damaged: every run found in its folder is reported.")
    folders = sorted(run_folders(folder))
    if not folders:
        where = "no results.jsonl in it or in any folder below it"
        raise UsageError(f"There are no results in {folder}: {where}.")
    jobs = [ListedJob(printable(place.name), str(place.relative_to(folder))) for place in folders]
    return Sweep(folder, folder.resolve().name, jobs=jobs, notes=notes)


def text_of(value: object) -> str:
    return printable(str(value))


def run_folders(folder: Path) -> Iterator[Path]:
    """Every folder below with results of its own, and none inside those."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}: name the folder of a sweep or of a run.")
    if (folder / "results.jsonl").exists():
        yield folder
        return
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from run_folders(Path(entry.path))


def load_run(place: Path) -> FinishedRun:
    """Everything that a run left; UsageError names the file that cannot be read."""
    file = place / "results.jsonl"
    rows = read_rows(file)
    if not rows or min(min(row.length, row.trained_length) for row in rows) < 1:
        fault = "has a length below 1" if rows else "is empty"
        raise UsageError(f"{file} {fault}: delete its folder and run again.")
    about = about_run(place)
    facts = flat(about.model_dump(exclude_unset=True))
    return FinishedRun(place, about.encoding, about.seed, rows, facts, scores(place / "documents.npz"))


def scores(file: Path) -> "dict[str, NDArray[np.float64]]":
    """Return the scores by window."""
    import numpy as np

    try:
        with np.load(file) as content:
            arrays = dict(content)
        if any(values.ndim != 1 or values.dtype.kind not in "iuf" for values in arrays.values()):
            raise UsageError("not scores")
        return arrays
    except Exception as error:  # a broken archive raises any of a dozen kinds
        raise UsageError(f"{file} is damaged: delete its folder and run again.") from error


def json_of(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise UsageError(f"{file} is damaged: delete it, or the folder it is in, and run again.")
    return content


def flat(content: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested dicts as one, keys joined by dots; a list as text."""
    result: dict[str, Any] = {}
    for key, value in content.items():
        plain = {prefix + key: str(value) if isinstance(value, list) else value}
        result |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else plain
    return result


def last_words(place: Path) -> str:
    """Return the last words of a job that did not finish."""
    if not place.exists():
        return "never started"
    log = place / "train.log"
    lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
    lines = [line.strip() for line in lines if line.strip()]
    errors = [line for line in lines if "Error" in line or line.lower().startswith(("error", "killed"))]
    return printable((errors or lines or ["not finished, and no log"])[-1])


def path_text(path: Path) -> str:
    """Return a path as a user would type it."""
    relative = os.path.relpath(path)
    return printable(relative if not relative.startswith(os.path.join("..", "..")) else str(path))
