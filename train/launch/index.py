"""`sweep.json`, the list of a sweep's jobs beside their results."""

import json
import re
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from data.disk import atomic_write
from train.launch.worker import Job

VARIED = ("encoding", "extension", "seed", "jobs", "outputs", "report", "wandb")  # within one experiment
Listed = dict[str, Any]  # a job, as `sweep.json` has it


def write_index(jobs: list[Job], started: datetime) -> Path:
    """Keep the list of jobs of a sweep next to their results, and return the folder of the sweep."""
    folder = jobs[0].folder.parent
    listed = [
        {
            "name": job.folder.name, "folder": job.folder.name, "encoding": job.config.names.encoding,
            "seed": job.config.seed, "overrides": job.overrides,
        }
        for job in jobs
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "name": folder.name,
        "command": "python -m train " + shlex.join(sys.argv[1:]),
        "started": started.astimezone(UTC).isoformat(timespec="seconds"),
    }
    with FileLock(folder / ".lock"):
        every = [*earlier(folder, listed), *listed]
        with atomic_write(folder / "sweep.json") as out:
            out.write(json.dumps(about | {"jobs": every}, indent=1).encode())
    return folder


def earlier(folder: Path, listed: list[Listed]) -> list[Listed]:
    """Return the jobs of earlier commands that belong beside these: others of the same experiment."""
    experiments = [experiment(job) for job in listed]
    repeated = [set(job["overrides"]) for job in listed]
    try:
        return [
            job
            for job in json.loads((folder / "sweep.json").read_text())["jobs"]
            if experiment(job) in experiments
            and set(job["overrides"]) not in repeated
            and (folder / job["folder"]).is_dir()
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def experiment(job: Listed) -> set[str]:
    """Return what a job chose beyond its encoding, extension and seed, of what determines results."""
    return {entry for entry in job["overrides"] if re.split("[.=]", entry)[0] not in VARIED}
