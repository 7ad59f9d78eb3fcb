"""The worker: a job of a sweep in a process of its own, on this machine or on SLURM."""

import os
import runpy
import sys

from hydra._internal.callbacks import Callbacks
from hydra.core.utils import run_job as run_hydra_job
from hydra.core.utils import setup_globals
from hydra.types import HydraContext

from train.config.cli import quoted
from train.config.compose import register
from train.errors import command_line, log_traceback
from train.launch.resources import Share, cores
from train.launch.sweep import Job
from train.runtime.signals import end_with_parent

SIGNALLED = 128  # the least exit code of a process that a signal ended, to be queued again


def run_worker(job: Job, share: Share) -> None:
    """Run a job in the new process, with its output in `train.log`."""
    end_with_parent()
    job.folder.mkdir(parents=True, exist_ok=True)
    log = os.open(job.folder / "train.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if share.gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(share.gpus)
    import torch

    torch.set_num_threads(share.threads or cores())
    words = [*job.overrides, "hydra.mode=RUN", f"hydra.run.dir={quoted(job.folder)}"]
    sys.argv = ["yardstick", "train", *words]
    is_started_by_slurm = int(os.environ.get("SLURM_NTASKS", "1")) > 1 and "SUBMITIT_EXECUTOR" in os.environ
    if job.config.trainer.is_distributed and not is_started_by_slurm:
        # Lightning starts the other processes with the same command line, where SLURM seems to have no tasks
        os.environ["SLURM_JOB_NAME"] = "interactive"
        runpy.run_module("yardstick", run_name="__main__", alter_sys=True)
        return
    try:
        run_job(job)
    except SystemExit as left:
        if "SUBMITIT_EXECUTOR" not in os.environ or int(left.code or 0) >= SIGNALLED:
            raise


def run_job(job: Job) -> None:
    """Run a job as Hydra does: with its settings in `.hydra`, and its logging."""
    from train import run

    def task(_: object) -> None:
        with command_line(), log_traceback(job.folder):
            run.run_job(job.config, job.folder, job.id)

    assert job.composed is not None
    register()
    setup_globals()
    context = HydraContext(config_loader=None, callbacks=Callbacks(job.composed))  # type: ignore[arg-type]
    run_hydra_job(task, job.composed, "hydra.sweep.dir", "hydra.sweep.subdir", context)
