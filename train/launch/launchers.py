"""Launchers of Hydra: processes on this machine, or an array of SLURM by submitit.

Each job has its settings from the start; the launcher waits for all, and one that fails stops no other.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict, read_write

from conf.errors import UsageError
from train.config.compose import config_of
from train.config.run_id import name_of, run_id_of
from train.launch.processes import LocalProcesses, SlurmArray, run_all
from train.launch.resources import width
from train.launch.sweep import Job, JobError, Multirun, report_function
from train.results.rows import read_rows
from train.results.run_folder import RESULTS, has_gaps
from train.results.summary_table import objective


class LocalLauncher(Launcher):
    """Local processes, as many at a time as this machine has room for."""

    __module__ = "hydra_plugins.yardstick"  # where Hydra looks for it

    def __init__(self, **options: Any) -> None:
        self.options = options

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.context, self.sweep, self.config = hydra_context, cast(Multirun, task_function), config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run jobs until all have ended, and return what a sweeper is to lower: their losses."""
        setup_globals()
        jobs = [self.job(list(words), number) for number, words in enumerate(job_overrides, initial_job_idx)]
        if not jobs:
            raise UsageError("The sweep has no jobs: glob(...) matches nothing.")
        if jobs[0].config.report is not None:
            report_function(jobs[0].config.report)  # an error before the jobs, not after them
        self.sweep.add(jobs)
        missing = {job.folder: job for job in jobs if not job.is_done or has_gaps(job.folder)}
        if missing:
            self.run([*missing.values()])
        return [returned_value(job) for job in jobs]

    def job(self, overrides: list[str], number: int) -> Job:
        """Return a job with its settings, named by what determines its results."""
        composed = self.context.config_loader.load_sweep_config(self.config, overrides)
        config = config_of(composed)
        run_id = run_id_of(config)
        with read_write(composed.hydra), open_dict(composed):
            composed.hydra.job.id, composed.hydra.job.num = str(number), number
        subdir = composed.hydra.sweep.subdir or name_of(config, run_id)
        folder = Path(composed.hydra.sweep.dir, subdir).absolute()
        return Job(config, overrides, folder, run_id)

    def run(self, jobs: list[Job]) -> None:
        run_all(jobs, LocalProcesses(), min(width(job.config) for job in jobs))


class SlurmLauncher(LocalLauncher):
    """An array of SLURM, with a task for each process of a job."""

    __module__ = "hydra_plugins.yardstick"

    def run(self, jobs: list[Job]) -> None:
        run_all(jobs, SlurmArray(self.options, jobs), len(jobs))


def register_launchers() -> None:
    """Let Hydra find the launchers: it builds plugins of one package alone, which all projects share."""
    sys.modules.setdefault("hydra_plugins", ModuleType("hydra_plugins"))
    sys.modules["hydra_plugins.yardstick"] = sys.modules[__name__]
    for launcher in (LocalLauncher, SlurmLauncher):
        Plugins.instance().register(launcher)


def returned_value(job: Job) -> JobReturn:
    """Return what Hydra's sweepers read of a job: the value to lower, or an error."""
    if not job.is_done:
        error = JobError(f"A job failed: {' '.join(job.overrides)}")
        return JobReturn(job.overrides, status=JobStatus.FAILED, _return_value=error)
    value = objective(read_rows(job.folder / RESULTS), job.config.names.extension)
    return JobReturn(job.overrides, status=JobStatus.COMPLETED, _return_value=value)
