"""The scheduler of a sweep: each job is a process, several run side by side, and `DONE` means success."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from omegaconf import DictConfig

from conf.errors import UsageError
from train.launch.launchers import JobProcess, open_launcher
from train.launch.resources import share
from train.launch.worker import Job
from train.results.done import DONE, RESULTS, has_gaps
from train.results.rows import read_rows
from train.results.summary_table import headline
from train.runtime.progress import Status, duration
from train.runtime.signals import PATIENCE, ending

WIDTH = 20  # characters of a bar


@dataclass(frozen=True)
class RunningJob:
    job: JobProcess
    since: float
    slot: int  # of those side by side


@dataclass
class SweepProgress:
    """The progress of a sweep: a bar in a terminal, or a line for each job in a log."""

    total: int  # jobs
    seconds: list[float] = field(default_factory=list)  # of each job that ended
    started: float | None = None  # of the first job
    status: Status = field(default_factory=Status)

    def show(self, running: dict[Path, RunningJob], *lines: str) -> None:
        """Print lines about jobs that ended, and the progress of the sweep."""
        ended, now = len(self.seconds), time.perf_counter()
        self.started = self.started or now
        place = f"{ended} of {self.total}"
        if 0 < ended < self.total:
            mean, ages = sum(self.seconds) / ended, [now - entry.since for entry in running.values()]
            at_once = (sum(self.seconds) + sum(ages)) / (now - self.started)
            left = mean * (self.total - ended) - sum(min(mean, age) for age in ages)
            place += f", about {duration(left / at_once)} left"
        if sys.stdout.isatty():
            marks = round(WIDTH * ended / self.total)
            names = ", ".join(folder.name for folder in running)
            self.status.show(*lines, f"[{'#' * marks:-<{WIDTH}}] {place}  {names}")
        else:
            for line in lines:
                print(f"{line} ({place})", flush=True)


def run_all(jobs: list[Job], launcher: str, options: DictConfig) -> int:
    """Run the jobs that are not done, and return the number of jobs that failed."""
    check_folders(jobs)
    missing = {job.folder: job for job in jobs if not job.is_done or has_gaps(job.folder)}
    if not missing:
        return 0
    running: dict[Path, RunningJob] = {}
    progress = SweepProgress(len(missing))
    with open_launcher(launcher, options, jobs) as by:
        try:
            with by.batch():
                for folder, job in missing.items():
                    side_by_side = by.width(job.config)
                    while len(running) >= side_by_side:
                        collect(running, progress, by.every)
                    slot = min(set(range(side_by_side)) - {entry.slot for entry in running.values()})
                    folder.mkdir(parents=True, exist_ok=True)
                    started = by.start(job, share(job.config, slot, side_by_side))
                    running[folder] = RunningJob(started, time.perf_counter(), slot)
                    progress.show(running)
            while running:
                collect(running, progress, by.every)
        except BaseException:
            stop_jobs(running)
            raise
    return sum(not job.is_done for job in jobs)


def check_folders(jobs: list[Job]) -> None:
    """Raise UsageError if different jobs would write to one folder."""
    cells: dict[Path, str] = {}
    for job in jobs:
        if cells.setdefault(job.folder, job.id) != job.id:
            raise UsageError(
                f"hydra.sweep.subdir gives different jobs the same folder, {job.folder}: leave it out."
            )


def stop_jobs(running: dict[Path, RunningJob]) -> None:
    """Stop the jobs, each with a state to resume from."""
    for entry in running.values():
        entry.job.terminate()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and any(entry.job.exitcode is None for entry in running.values()):
        time.sleep(0.05)
    for entry in running.values():
        entry.job.kill()


def collect(running: dict[Path, RunningJob], progress: SweepProgress, every: float) -> None:
    """Wait until a job ends, and report its result."""
    while all(entry.job.exitcode is None for entry in running.values()):
        time.sleep(every)
    for folder, entry in list(running.items()):
        code = entry.job.exitcode
        if code is None:
            continue
        del running[folder]
        folder.chmod(folder.stat().st_mode)  # NFS may remember that there was no DONE
        progress.seconds.append(time.perf_counter() - entry.since)
        outcome = job_result(folder) if (folder / DONE).exists() else failure_text(folder, code)
        progress.show(running, f"{folder.name:<36} {progress.seconds[-1]:6.0f} s  {outcome}")


def job_result(folder: Path) -> str:
    """Return the result of a job in words."""
    try:
        return f"done{headline(read_rows(folder / RESULTS))}"
    except UsageError as error:  # for the report to tell
        return f"done, but {error}"


def failure_text(folder: Path, code: int | str) -> str:
    """Return how a job ended; add it to the job's log if that does not say so."""
    log = folder / "train.log"
    if isinstance(code, int) and code >= 0:
        return f"FAILED, see {log}"
    outcome = ending(code) if isinstance(code, int) else f"did not end: {code}"
    with log.open("a") as lines:
        lines.write(f"Killed: the job {outcome}.\n")
    return f"FAILED, it {outcome}"
