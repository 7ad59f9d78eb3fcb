"""The worker: a job of a sweep in a process of its own, on this machine or on SLURM."""

import os
import runpy
import sys

from conf.errors import UsageError
from train.config.compose import compose_config, quoted
from train.config.run_id import run_id_of
from train.errors import command_line
from train.launch.resources import Share, cores
from train.launch.sweep import Job
from train.runtime.process import follow_parent

SIGNALLED = 128  # the least exit code of a process that a signal ended, to be queued again


def run_worker(job: Job, share: Share) -> None:
    """Run the command line of a job in the new process, with its output in `train.log`."""
    follow_parent()
    job.folder.mkdir(parents=True, exist_ok=True)
    log = os.open(job.folder / "train.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if share.gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(share.gpus)
    import torch

    torch.set_num_threads(share.threads or cores())
    place = f"hydra.run.dir={quoted(job.folder)}"
    console = "hydra.job_logging.root.handlers=[console]"  # which is the log already
    sys.argv = ["yardstick", "train", *job.overrides, "hydra.mode=RUN", place, console]
    is_submitted = "SUBMITIT_EXECUTOR" in os.environ
    if job.config.trainer.is_distributed and not (is_submitted and int(os.environ["SLURM_NTASKS"]) > 1):
        # Lightning starts the other processes with the same command line, where SLURM seems to have no tasks
        os.environ["SLURM_JOB_NAME"] = "interactive"
    try:
        with command_line():
            name = "evaluate" if job.config.run else "config"
            if run_id_of(compose_config(*job.overrides, name=name)) != job.id:
                raise UsageError(
                    "Settings, code or data changed since this job was queued: start the sweep again."
                )
        runpy.run_module("yardstick", run_name="__main__", alter_sys=True)
    except SystemExit as left:
        if not is_submitted or int(left.code or 0) >= SIGNALLED:
            raise
