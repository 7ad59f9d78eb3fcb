"""Workers: a job of a sweep in a process of its own, on this machine or on a cluster."""

import multiprocessing
import os
import runpy
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from train.config.schema import Config
from train.errors import command_line, log_traceback
from train.launch.resources import Share, cores
from train.results.done import is_done
from train.runtime.signals import PATIENCE, SIGNALS, end_with_parent, handle_signals


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


def run_worker(job: Job, share: Share) -> None:
    """Run a job in the new process, with its output in `train.log`."""
    end_with_parent()
    log = os.open(job.folder / "train.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if share.gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(share.gpus)
    import torch

    torch.set_num_threads(share.threads or cores())
    sys.argv = ["train", *job.overrides, "hydra.mode=RUN", f"hydra.run.dir={quote(job.folder)}"]
    if job.config.trainer.is_distributed and "RANK" not in os.environ:
        # Lightning starts the other processes with the same command line, where SLURM seems to have no tasks
        os.environ["SLURM_JOB_NAME"] = "interactive"
        runpy.run_module("train", run_name="__main__", alter_sys=True)
    else:
        from train.run import run_job

        with command_line(), log_traceback(job.folder):
            run_job(job.config, job.folder, job.id)


class Worker:
    """A worker of a cluster: it starts a job, forwards signals that end it, and returns its exit code."""

    def __init__(self) -> None:
        self.is_told = False

    def __call__(self, job: Job, share: Share) -> int:
        number_tasks()
        parent = os.getppid()
        job.folder.mkdir(parents=True, exist_ok=True)
        # not forked from a server: SLURM's signals are for all processes of a step, and would end it
        multiprocessing.set_start_method("spawn", force=True)
        self.process = multiprocessing.Process(target=run_worker, args=(job, share))
        self.process.start()
        with handle_signals(self.end, SIGNALS):
            while self.process.exitcode is None:
                self.process.join(1)
                if os.getppid() != parent:  # nor does a job outlive whoever started its worker
                    self.process.terminate()
                    self.process.join(PATIENCE)
                    os._exit(128 + signal.SIGTERM)
        if self.is_told and os.environ.get("SUBMITIT_EXECUTOR") == "slurm":
            time.sleep(PATIENCE)  # no result: SLURM ends this process, and may queue the job again
        return self.process.exitcode

    def end(self, number: int, frame: object) -> None:
        self.is_told = True
        self.process.terminate()

    def checkpoint(self, job: Job, share: Share) -> Any:
        """Save the state and queue the job again: submitit calls this when the machine is taken back."""
        from submitit.helpers import DelayedSubmission

        self.process.terminate()
        self.process.join()
        return DelayedSubmission(Worker(), job, share)


def number_tasks() -> None:
    """Set the ranks of a submitit job's tasks as torchrun does."""
    if "SUBMITIT_EXECUTOR" not in os.environ:
        return
    from submitit import JobEnvironment
    from submitit.helpers import TorchDistributedEnvironment

    job = JobEnvironment()
    if job.num_tasks > 1:
        TorchDistributedEnvironment().export(set_cuda_visible_devices=False, overwrite=True)
        os.environ["TORCHELASTIC_RUN_ID"] = job.job_id


def quote(path: Path) -> str:
    """Return a path in the syntax of Hydra's overrides."""
    return "'" + str(path).replace("\\", "\\\\").replace("'", "\\'") + "'"
