"""A sweep: its jobs, and `sweep.json`, the list of them next to their results."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from conf.errors import UsageError
from train.config.compose import config_of
from train.config.run_id import is_in_run, run_id_of
from train.config.schema import Config
from train.config.validation import named_object
from train.results.about import command_text
from train.results.rows import read_rows
from train.results.run_folder import DONE, RESULTS, is_done, write_whole
from train.results.summary_table import headline
from train.runtime.process import ending

VARIED = ("encoding", "extension", "seed", "wandb", "logger")  # within one experiment


class JobError(UsageError):
    """A job of a sweep failed, which has been printed."""


@dataclass(frozen=True)
class Job:
    """One run of a sweep."""

    config: Config
    overrides: list[str]
    folder: Path
    id: str

    @property
    def is_done(self) -> bool:
        return is_done(self.folder, self.id)


def job_result(job: Job, code: int) -> str:
    """Return how a job ended, in words; add it to the job's log if that does not say so."""
    job.folder.chmod(job.folder.stat().st_mode)  # NFS may remember that there was no DONE
    if (job.folder / DONE).exists():
        try:
            return f"done{headline(read_rows(job.folder / RESULTS), job.config.names.extension)}"
        except UsageError as error:  # for the report to tell
            return f"done, but {error}"
    log = job.folder / "train.log"
    if code >= 0:
        return f"FAILED, see {log}"
    with log.open("a", encoding="utf-8") as lines:
        lines.write(f"Killed: the job {ending(code)}.\n")
    return f"FAILED, it {ending(code)}"


@dataclass
class Multirun:
    """The jobs that a launcher has been given; Hydra's own launchers call it for each of theirs."""

    jobs: list[Job] = field(default_factory=list)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self, root: DictConfig) -> float | None:
        from train.run import run_job  # torch and lightning: not for the parent of a sweep

        config = config_of(root)
        return run_job(config, Path(HydraConfig.get().runtime.output_dir), run_id_of(config))

    def add(self, jobs: Sequence[Job]) -> None:
        """Add jobs. Raise UsageError if different ones would write to one folder."""
        ids = {job.folder: job.id for job in self.jobs}
        for job in jobs:
            if ids.setdefault(job.folder, job.id) != job.id:
                raise UsageError(
                    f"hydra.sweep.subdir gives different jobs the same folder, {job.folder}: leave it out."
                )
        self.jobs += jobs
        write_index(self.jobs, self.started)

    def report(self) -> int:
        """Make the report of the sweep, and return the exit code of the command."""
        if not self.jobs:
            return 0
        config, folder = self.jobs[0].config, self.jobs[0].folder.parent
        if config.report is not None:
            report_function(config.report)(folder)
        return 0 if all(job.is_done for job in self.jobs) else 1


def report_function(path: str) -> Callable[[Path], object]:
    """Return the function that makes a report of a sweep's folder."""
    function: Callable[[Path], object] = named_object("report", path, "a function", callable)
    return function


def write_index(jobs: list[Job], started: datetime) -> None:
    """Write the list of a sweep's jobs next to their results. Jobs of earlier commands stay in it if they
    belong to the same experiment and nobody has deleted their folders."""
    folder = jobs[0].folder.parent
    folder.mkdir(parents=True, exist_ok=True)
    about = {"name": folder.name, "command": command_text(), "started": started.isoformat(timespec="seconds")}
    entries = [
        {"name": job.folder.name, "folder": job.folder.name, "encoding": job.config.names.encoding,
         "seed": job.config.seed, "overrides": job.overrides}
        for job in jobs
    ]  # fmt: skip
    with FileLock(folder / ".lock"):
        for job in jobs:  # before another command takes a folder that is missing for a deleted one
            job.folder.mkdir(parents=True, exist_ok=True)
        entries = [*earlier_entries(folder, [job.overrides for job in jobs]), *entries]
        write_whole(folder / "sweep.json", json.dumps(about | {"jobs": entries}, indent=1))


def earlier_entries(folder: Path, commands: list[list[str]]) -> list[dict[str, Any]]:
    """Return the jobs of earlier commands that belong to the experiment of these, and are none of them."""
    try:
        known = json.loads((folder / "sweep.json").read_text("utf-8"))["jobs"]
        return [
            job
            for job in known
            if experiment(job["overrides"]) in map(experiment, commands)
            and set(job["overrides"]) not in map(set, commands)
            and (folder / job["folder"]).is_dir()
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def experiment(overrides: list[str]) -> set[str]:
    """Return the overrides that determine results, besides encoding, extension and seed."""
    keys = {entry: entry.lstrip("+").partition("=")[0] for entry in overrides}
    return {entry for entry, key in keys.items() if is_in_run(key) and key.partition(".")[0] not in VARIED}
