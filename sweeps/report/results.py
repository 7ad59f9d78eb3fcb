"""What a sweep left behind: the runs that finished, with their rows, and the jobs that did not."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.report.records import Failure
from train.rows import Row, read

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
class Run:
    """One training and its evaluations."""

    folder: Path
    encoding: str
    seed: int
    rows: list[Row]
    facts: dict[str, Any]  # run.json, flattened: settings.model.width -> 128
    documents: "dict[str, NDArray[np.float64]] | None"  # scores by window; None without documents.npz

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What determined the training, beside data and seed."""
        pairs = ((key.removeprefix("settings."), value) for key, value in self.facts.items())
        return {
            key: value
            for key, value in pairs
            if key.split(".")[0] in TRAINING
            and key.split(".")[-1] not in NOT_RESULT
            and key not in TRAINING[:4]
        }


@dataclass(frozen=True)
class Job:
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
    jobs: list[Job] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unreadable: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def load(folder: Path) -> Sweep:
    """The sweep of a folder; a folder of runs without `sweep.json` is one too, and so is a single run."""
    sweep = listed(folder)
    for job in sweep.jobs:
        place = Path(os.path.normpath(folder / job.folder))
        log = shown(place / "train.log")
        if not ((place / "DONE").exists() and (place / "results.jsonl").exists()):
            sweep.failures.append(Failure(job.name, last_words(place), log))
            continue
        try:
            sweep.runs.append(load_run(place))
        except (ValueError, OSError) as error:
            sweep.unreadable.append(Failure(job.name, str(error), log))
    return sweep


def listed(folder: Path) -> Sweep:
    """The jobs that `sweep.json` lists; where it does not, or is damaged, all runs below."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}: name the folder of a sweep or of a run.")
    file, notes = folder / "sweep.json", []
    if file.exists():
        try:
            about = json_of(file)
            name, command, started = (str(about.get(key, "")) for key in ("name", "command", "started"))
            jobs = [Job(str(job.get("name", job["folder"])), str(job["folder"])) for job in about["jobs"]]
            return Sweep(folder, name or folder.name, command, started, jobs)
        except (ValueError, KeyError, TypeError, AttributeError):
            notes.append(f"{shown(file)} is damaged: every run below its folder is reported.")
    found = sorted(run_folders(folder))
    if not found:
        raise ValueError(f"There are no results in {folder}: no results.jsonl in it or in a folder below.")
    jobs = [Job(place.name, str(place.relative_to(folder))) for place in found]
    return Sweep(folder, folder.resolve().name, jobs=jobs, notes=notes)


def run_folders(folder: Path) -> Iterator[Path]:
    """Every folder below with results of its own, and none inside those."""
    if (folder / "results.jsonl").exists():
        yield folder
        return
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from run_folders(Path(entry.path))


def load_run(place: Path) -> Run:
    """Everything that a run left; ValueError names the file that cannot be read."""
    rows = read(place / "results.jsonl")
    if not rows:
        raise ValueError(f"{place / 'results.jsonl'} is empty: delete its folder and run again.")
    facts = flat(json_of(place / "run.json")) if (place / "run.json").exists() else {}
    encoding, seed = str(facts.get("encoding", rows[0].encoding)), facts.get("seed", rows[0].seed)
    if not isinstance(seed, int):
        raise ValueError(f"{place / 'run.json'} has the seed {seed!r}, not a whole number.")
    return Run(place, encoding, seed, rows, facts, scores(place / "documents.npz"))


def scores(file: Path) -> "dict[str, NDArray[np.float64]] | None":
    """The scores by window; None where there is no file."""
    import numpy as np

    if not file.exists():
        return None
    try:
        with np.load(file) as content:
            return dict(content)
    except Exception as error:  # a broken archive raises any of a dozen kinds
        raise ValueError(f"{file} is damaged: delete its folder and run again.") from error


def json_of(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ValueError(f"{file} is damaged: delete it, or the folder it is in, and run again.")
    return content


def flat(content: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested dicts as one, keys joined by dots."""
    result: dict[str, Any] = {}
    for key, value in content.items():
        result |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return result


def last_words(place: Path) -> str:
    """Of a job that did not finish."""
    if not place.exists():
        return "never started"
    log = place / "train.log"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()] if log.exists() else []
    lines = [line for line in lines if line]
    errors = [line for line in lines if "Error" in line or line.lower().startswith(("error", "killed"))]
    return (errors or lines or ["not finished, and no log"])[-1]


def shown(path: Path) -> str:
    """As a user would type it."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith(os.path.join("..", "..")) else str(path)
