"""The jobs of a sweep: finished runs, and jobs without results.

All readers use `load_sweep`, so that damaged runs are left out, and named, everywhere. An archive
(`sweeps.archive`) reads like the folder that it was made from.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from conf.errors import UsageError, printable
from sweeps.runs import ROWS, FinishedRun, archived_runs, load_run

OUTCOMES = UNFINISHED, FAILED, UNREADABLE = "have no results yet", "failed", "cannot be read"


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


def last_words(place: Path) -> tuple[str, bool]:
    """Return the last lines of a job without results, and whether they report an error."""
    if not (place.is_dir() and any(place.iterdir())):
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
