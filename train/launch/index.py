"""`sweep.json`, the list of a sweep's jobs next to their results."""

import json
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from filelock import FileLock

from data.disk import atomic_write
from train.launch.worker import Job
from train.results.about import command_text

VARIED = ("encoding", "extension", "seed", "jobs", "outputs", "report", "wandb")  # within one experiment


@dataclass(frozen=True)
class IndexEntry:
    """A job in `sweep.json`."""

    name: str
    folder: str
    encoding: str
    seed: int
    overrides: list[str]

    @classmethod
    def of(cls, job: Job) -> Self:
        name, config = job.folder.name, job.config
        return cls(name, name, config.names.encoding, config.seed, job.overrides)

    @property
    def experiment(self) -> set[str]:
        """Return the settings of a job that determine results, besides its encoding, extension and seed."""
        return {entry for entry in self.overrides if re.split("[.=]", entry)[0] not in VARIED}


def write_index(jobs: list[Job], started: datetime) -> Path:
    """Write the list of a sweep's jobs next to their results, and return the folder of the sweep."""
    folder, listed_jobs = jobs[0].folder.parent, [IndexEntry.of(job) for job in jobs]
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "name": folder.name,
        "command": command_text("train"),
        "started": started.astimezone(UTC).isoformat(timespec="seconds"),
    }
    with FileLock(folder / ".lock"):
        every = [asdict(job) for job in (*earlier(folder, listed_jobs), *listed_jobs)]
        with atomic_write(folder / "sweep.json") as out:
            out.write(json.dumps(about | {"jobs": every}, indent=1).encode())
    return folder


def earlier(folder: Path, listed_jobs: list[IndexEntry]) -> list[IndexEntry]:
    """Return the jobs of earlier commands that belong to the same experiment."""
    try:
        known = [IndexEntry(**entry) for entry in json.loads((folder / "sweep.json").read_text())["jobs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    experiments = [job.experiment for job in listed_jobs]
    repeated = [set(job.overrides) for job in listed_jobs]
    return [
        job
        for job in known
        if job.experiment in experiments
        and set(job.overrides) not in repeated
        and (folder / job.folder).is_dir()
    ]
