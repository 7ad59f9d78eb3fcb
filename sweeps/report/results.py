"""What a sweep left behind: the runs that finished, with their rows, and the jobs that did not."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from train.rows import Row, read

TRAINING = (
    "model",
    "encoding",
    "optimizer",
    "trainer",
    "batch",
    "objective",
)  # settings that tell methods apart
NOT_RESULT = (
    "_target_",
    "devices",
    "num_nodes",
    "strategy",
    "accelerator",
    "threads",
    "log_every",
    "checkpoint_every",
)


@dataclass(frozen=True)
class Run:
    """One training and its evaluations."""

    folder: Path
    encoding: str
    seed: int
    rows: list[Row]
    facts: dict[str, Any]  # run.json, flattened: settings.model.width -> 128

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
class Failure:
    """A job without DONE."""

    name: str
    encoding: str
    seed: int
    log: str
    reason: str


@dataclass(frozen=True)
class Sweep:
    folder: Path
    name: str
    command: str
    started: str
    runs: list[Run]
    failures: list[Failure]


def load(folder: Path) -> Sweep:
    """The sweep of a folder; a folder of runs without `sweep.json` is one too, and so is a single run."""
    about = description(folder)
    runs, failures = [], []
    for job in about["jobs"]:
        place = Path(os.path.normpath(folder / job["folder"]))
        if (place / "DONE").exists() and (place / "results.jsonl").exists():
            runs.append(load_run(place, job))
        else:
            log, reason = place / "train.log", why(place)
            encoding, seed = str(job.get("encoding", "?")), int(job.get("seed", 0))
            failures.append(Failure(str(job.get("name", place.name)), encoding, seed, shown(log), reason))
    return Sweep(
        folder,
        about.get("name") or folder.name,
        about.get("command", ""),
        about.get("started", ""),
        runs,
        failures,
    )


def description(folder: Path) -> dict[str, Any]:
    """`sweep.json`, or what it would say of all runs below."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}: name the folder of a sweep or of a run.")
    file = folder / "sweep.json"
    if file.exists():
        about = json_of(file)
        if not isinstance(about.get("jobs"), list) or not all("folder" in job for job in about["jobs"]):
            raise ValueError(f"{file} is damaged: delete it to report every run below its folder.")
        return about
    found = sorted(run_folders(folder))
    if not found:
        raise ValueError(f"There are no results in {folder}: no results.jsonl in it or in a folder below.")
    return {"jobs": [{"folder": str(place.relative_to(folder)), "name": place.name} for place in found]}


def run_folders(folder: Path) -> Iterator[Path]:
    """Every folder below with results of its own, and none inside those."""
    if (folder / "results.jsonl").exists():
        yield folder
        return
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from run_folders(Path(entry.path))


def load_run(place: Path, job: dict[str, Any]) -> Run:
    rows = read(place / "results.jsonl")
    facts = flat(json_of(place / "run.json")) if (place / "run.json").exists() else {}
    if not rows:
        raise ValueError(
            f"{place / 'results.jsonl'} is empty although the run is done: delete its folder and run again."
        )
    encoding = facts.get("encoding", rows[0].encoding)
    return Run(place, str(encoding), int(facts.get("seed", rows[0].seed)), rows, facts)


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


def why(place: Path) -> str:
    """The last words of a job that did not finish."""
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


def fingerprint(folder: Path, *options: Any) -> str:
    """A hash of all that a report is made from, its own code included."""
    about = description(folder)
    digest = hashlib.sha256(repr((options, about)).encode())
    files = sorted(Path(__file__).parent.glob("*.*"))
    for job in about["jobs"]:
        names = ("results.jsonl", "documents.npz", "run.json", "DONE", "train.log", "diagnostics.json")
        files += [folder / job["folder"] / name for name in names]
    for file in files:
        digest.update(str(file).encode())
        digest.update(file.read_bytes() if file.exists() else b"absent")
    return digest.hexdigest()
