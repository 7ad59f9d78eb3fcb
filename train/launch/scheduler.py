"""The scheduler of a sweep: each job is a process, several run side by side, and `DONE` means success."""

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from conf.errors import UsageError
from train.config.schema import Config
from train.launch.resources import Share, share
from train.launch.sweep import Job
from train.results.rows import read_rows
from train.results.run_folder import DONE, RESULTS
from train.results.summary_table import headline
from train.runtime.progress import duration
from train.runtime.signals import PATIENCE, ending


class JobProcess(Protocol):
    """A process of a job, on this machine or another."""

    @property
    def exitcode(self) -> int | None:
        """Return its exit code; None until it ends."""

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


Start = Callable[[Job, Share], JobProcess]


@dataclass(frozen=True)
class RunningJob:
    job: Job
    process: JobProcess
    since: float
    slot: int  # of those side by side


@dataclass
class Scheduler:
    """The jobs that run, and a bar in a terminal, or a line for each job in a log."""

    total: int  # jobs
    running: list[RunningJob] = field(default_factory=list)

    def __post_init__(self) -> None:
        columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}")
        self.bar = Progress(*columns, speed_estimate_period=1e9, disable=not sys.stdout.isatty())
        self.task = self.bar.add_task("", total=self.total)

    def start(self, job: Job, side_by_side: int, start: Start) -> None:
        """Start a job in a place that is free."""
        slot = min(set(range(side_by_side)) - {entry.slot for entry in self.running})
        job.folder.mkdir(parents=True, exist_ok=True)
        process = start(job, share(job.config, slot, side_by_side))
        self.running.append(RunningJob(job, process, time.perf_counter(), slot))
        self.show()

    def show(self) -> None:
        self.bar.update(self.task, description=", ".join(entry.job.folder.name for entry in self.running))

    def collect(self, every: float) -> None:
        """Wait until a job ends, and report its result."""
        while all(entry.process.exitcode is None for entry in self.running):
            time.sleep(every)
        for entry in [entry for entry in self.running if entry.process.exitcode is not None]:
            self.running.remove(entry)
            self.bar.advance(self.task)
            self.show()
            self.report(entry.job, entry.process.exitcode, time.perf_counter() - entry.since)

    def report(self, job: Job, code: int | None, seconds: float) -> None:
        """Print a line about a job that ended."""
        job.folder.chmod(job.folder.stat().st_mode)  # NFS may remember that there was no DONE
        outcome = job_result(job) if (job.folder / DONE).exists() else failure_text(job.folder, code or 0)
        line = f"{job.folder.name:<36} {seconds:6.0f} s  {outcome}"
        if not self.bar.disable:
            self.bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
            return
        state = self.bar.tasks[0]
        left = (state.elapsed or 0) * (self.total - state.completed) / max(1, state.completed)
        rest = f", about {duration(left)} left" if left else ""
        print(f"{line} ({state.completed:.0f} of {self.total}{rest})", flush=True)

    def stop(self) -> None:
        """Stop the jobs, each with a state to resume from."""
        for entry in self.running:
            entry.process.terminate()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and any(entry.process.exitcode is None for entry in self.running):
            time.sleep(0.05)
        for entry in self.running:
            entry.process.kill()


def run_all(
    jobs: list[Job], opened: AbstractContextManager[Start], width: Callable[[Config], int], every: float
) -> None:
    """Run jobs, as many at a time as `width` allows, and look at them `every` so many seconds. What starts
    them is `opened` only until the last has started."""
    scheduler = Scheduler(len(jobs))
    with scheduler.bar:
        try:
            with opened as start:
                for job in jobs:
                    while len(scheduler.running) >= (side_by_side := width(job.config)):
                        scheduler.collect(every)
                    scheduler.start(job, side_by_side, start)
            while scheduler.running:
                scheduler.collect(every)
        except BaseException:
            scheduler.stop()
            raise


def job_result(job: Job) -> str:
    """Return the result of a job in words."""
    try:
        return f"done{headline(read_rows(job.folder / RESULTS), job.config.names.extension)}"
    except UsageError as error:  # for the report to tell
        return f"done, but {error}"


def failure_text(folder: Path, code: int) -> str:
    """Return how a job ended; add it to the job's log if that does not say so."""
    log = folder / "train.log"
    if code >= 0:
        return f"FAILED, see {log}"
    outcome = ending(code)
    with log.open("a", encoding="utf-8") as lines:
        lines.write(f"Killed: the job {outcome}.\n")
    return f"FAILED, it {outcome}"
