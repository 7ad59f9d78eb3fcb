"""The jobs of a sweep: each in a process of its own, several side by side.

The processes are forked from a server that has imported torch and Lightning once, so that a
job starts in a fraction of a second; a crash ends one job only. Success is `DONE`.
"""

import json
import multiprocessing
import os
import runpy
import shlex
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from data.disk import written
from train.cells import cell
from train.config import Config
from train.done import has_gaps, is_done
from train.errors import explained, logged
from train.signals import PATIENCE, end_with_parent, ending

PRELOADED = ["train.preload"]
MEMORY = 2 << 30  # bytes that a job may need
FULL, MOST_A_GPU = 1e12, 8  # operations of a step that keep a GPU busy alone; else jobs share it


@dataclass(frozen=True)
class Job:
    """One run of a sweep."""

    config: Config
    overrides: list[str]
    folder: Path

    @property
    def is_done(self) -> bool:
        return is_done(self.folder, cell(self.config))


@dataclass(frozen=True)
class Running:
    process: ForkServerProcess
    started: float
    slot: int  # of those side by side


def run_all(jobs: list[Job]) -> int:
    """Run what is not done yet; the number of jobs that failed."""
    check_folders(jobs)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    running: dict[Path, Running] = {}
    try:
        for job in jobs:
            if (job.is_done and not has_gaps(job.folder)) or job.folder in running:
                continue
            side_by_side = width(job.config)
            while len(running) >= side_by_side:
                collect(running)
            slot = min(set(range(side_by_side)) - {one.slot for one in running.values()})
            job.folder.mkdir(parents=True, exist_ok=True)
            process = context.Process(target=run, args=(job, slot, max(1, cores() // side_by_side)))
            try:
                process.start()
            except (EOFError, ConnectionError):
                raise ChildProcessError("The process that starts the jobs is gone: run it again.") from None
            running[job.folder] = Running(process, time.perf_counter(), slot)
        while running:
            collect(running)
    except BaseException:
        stop(running)
        raise
    return sum(not job.is_done for job in jobs)


def check_folders(jobs: list[Job]) -> None:
    """ValueError where different jobs would write into one folder."""
    cells: dict[Path, str] = {}
    for job in jobs:
        if cells.setdefault(job.folder, own := cell(job.config)) != own:
            raise ValueError(
                f"hydra.sweep.subdir gives different jobs the same folder, {job.folder}: leave it out."
            )


def stop(running: dict[Path, Running]) -> None:
    """End the jobs, each with a state to go on from."""
    for one in running.values():
        one.process.terminate()
    end = time.monotonic() + PATIENCE
    for one in running.values():
        one.process.join(max(0.0, end - time.monotonic()))
        one.process.kill()


def collect(running: dict[Path, Running]) -> None:
    """Wait until a job ends, and tell how."""
    wait([one.process.sentinel for one in running.values()])
    for folder, one in list(running.items()):
        if one.process.is_alive():
            continue
        one.process.join()
        del running[folder]
        how = "done" if (folder / "DONE").exists() else failed(folder, one.process.exitcode or 0)
        print(f"{folder.name:<44} {time.perf_counter() - one.started:6.0f} s  {how}", flush=True)


def failed(folder: Path, code: int) -> str:
    """How a job ended; its log has it where it could not say it itself."""
    log = folder / "train.log"
    if code < 0:
        with log.open("a") as lines:
            lines.write(f"Killed: the job {ending(code)}.\n")
        return f"FAILED, it {ending(code)}"
    return f"FAILED, see {log}"


def run(job: Job, slot: int, threads: int) -> None:
    """In the new process: a single run, its output in `train.log`."""
    end_with_parent()
    log = os.open(job.folder / "train.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if gpus():
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", str(slot % gpus()))
    import torch

    torch.set_num_threads(threads)
    sys.argv = ["train", *job.overrides, "hydra.mode=RUN", f"hydra.run.dir={quoted(job.folder)}"]
    if job.config.trainer.is_distributed:  # Lightning starts the other processes with the same command line
        runpy.run_module("train", run_name="__main__", alter_sys=True)
    else:
        from train.job import run_job

        with explained(), logged(job.folder):
            run_job(job.config, job.folder)


def write_index(jobs: list[Job], started: datetime) -> Path:
    """Keep the list of jobs of a sweep next to their results; the folder of the sweep."""
    folder = jobs[0].folder.parent
    about = {
        "name": folder.name,
        "command": "python -m train " + shlex.join(sys.argv[1:]),
        "started": started.astimezone(UTC).isoformat(timespec="seconds"),
        "jobs": [
            {
                "name": job.folder.name, "folder": job.folder.name,
                "encoding": job.config.names.encoding, "seed": job.config.seed,
            }
            for job in jobs
        ],
    }  # fmt: skip
    with written(folder / "sweep.json") as out:
        out.write(json.dumps(about, indent=1).encode())
    return folder


def width(config: Config) -> int:
    """How many jobs fit side by side on this machine."""
    if config.jobs != "auto":
        return config.jobs
    if config.trainer.is_distributed:
        return 1
    if gpus() and config.trainer.accelerator != "cpu":
        return gpus() * max(1, min(MOST_A_GPU, cores() // gpus(), int(FULL // work(config))))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return max(1, min(cores(), memory // MEMORY))


def work(config: Config) -> float:
    """Floating point operations of a training step, without attention."""
    model = config.model
    weights = 12 * model.depth * model.width**2 + model.width * model.vocab
    return 6.0 * weights * config.batch * model.length


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus() -> int:
    """Without torch, which would take seconds to import."""
    return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


def quoted(path: Path) -> str:
    """A path as Hydra's grammar wants it."""
    return "'" + str(path).replace("\\", "\\\\").replace("'", "\\'") + "'"
