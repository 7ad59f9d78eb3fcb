"""Launchers of Hydra: on this machine, and on SLURM by submitit.

Each job has its settings from the start; the launcher waits for all, and one that fails stops no other.
"""

import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from conf.errors import UsageError
from train.config.cli import function
from train.config.compose import config_of
from train.config.run_id import name_of, run_id_of
from train.config.schema import Config
from train.launch.resources import Share, width
from train.launch.scheduler import JobProcess, Start, run_all
from train.launch.slurm import SlurmProcess, open_array
from train.launch.sweep import Job, JobError, Multirun
from train.launch.worker import run_worker
from train.results.rows import read_rows
from train.results.run_folder import RESULTS, has_gaps
from train.results.summary_table import objective
from train.runtime.signals import block_sigint

PRELOADED = ["yardstick", "train.runtime.preload"]  # the first finds the second, wherever the command runs


class LocalLauncher(Launcher):
    """Local processes, forked from a server that has imported torch once, so that jobs start at once."""

    __module__ = "hydra_plugins.yardstick"  # where Hydra looks for it
    every = 0.05  # seconds between two looks at the jobs

    def __init__(self, **options: Any) -> None:
        containers = {key: value for key, value in options.items() if OmegaConf.is_config(value)}
        self.options = options | {key: OmegaConf.to_container(value) for key, value in containers.items()}

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.context, self.sweep, self.config = hydra_context, cast(Multirun, task_function), config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run jobs until all have ended, and return what a sweeper is to lower: their losses."""
        setup_globals()
        jobs = [self.job(list(words), number) for number, words in enumerate(job_overrides, initial_job_idx)]
        if not jobs:
            raise UsageError("The sweep has no jobs: glob(...) matches nothing.")
        if jobs[0].config.report is not None:
            function("report", jobs[0].config.report)  # an error before the jobs, not after them
        self.sweep.add(jobs)
        missing = {job.folder: job for job in jobs if not job.is_done or has_gaps(job.folder)}
        if missing:
            run_all([*missing.values()], self.open([*missing.values()]), self.width, self.every)
        return [returned_value(job) for job in jobs]

    def job(self, overrides: list[str], number: int) -> Job:
        """Return a job with its settings, named by what determines its results."""
        composed = self.context.config_loader.load_sweep_config(self.config, overrides)
        config = config_of(composed)
        run_id = run_id_of(config)
        with read_write(composed.hydra), open_dict(composed):
            composed.hydra.job.id, composed.hydra.job.num = str(number), number
            composed.hydra.job_logging.root.handlers = ["console"]  # which goes to the log of the job
        subdir = composed.hydra.sweep.subdir or name_of(config, run_id)
        folder = Path(composed.hydra.sweep.dir, subdir).absolute()
        return Job(config, overrides, folder, run_id, composed)

    def width(self, config: Config) -> int:
        """Return how many jobs run at a time."""
        return width(config)

    @contextmanager
    def open(self, jobs: list[Job]) -> Iterator[Start]:
        """Yield the function that starts a job."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        with block_sigint():
            ensure_running()

        def start(job: Job, share: Share) -> JobProcess:
            process = context.Process(target=run_worker, args=(job, share))
            try:
                process.start()
            except (EOFError, ConnectionError):
                raise ChildProcessError("The process that starts the jobs is gone: run it again.") from None
            return process

        yield start


class SlurmLauncher(LocalLauncher):
    """An array of SLURM, by submitit, with a task for each process of a job."""

    __module__ = "hydra_plugins.yardstick"
    every = 1.0

    def width(self, config: Config) -> int:
        return len(self.sweep.jobs)

    @contextmanager
    def open(self, jobs: list[Job]) -> Iterator[Start]:
        with open_array(self.options, jobs) as submit:
            yield lambda job, share: SlurmProcess(submit(run_worker, job, Share()))


def register_launchers() -> None:
    """Let Hydra find the launchers: it builds plugins of one package alone, which all projects share."""
    sys.modules.setdefault("hydra_plugins", ModuleType("hydra_plugins"))
    sys.modules["hydra_plugins.yardstick"] = sys.modules[__name__]
    for launcher in (LocalLauncher, SlurmLauncher):
        Plugins.instance().register(launcher)


def returned_value(job: Job) -> JobReturn:
    """Return what Hydra's sweepers read of a job: the value to lower, or an error."""
    if not job.is_done:
        return FailedJob(job.overrides, status=JobStatus.FAILED)
    value = objective(read_rows(job.folder / RESULTS), job.config.names.extension)
    return JobReturn(job.overrides, status=JobStatus.COMPLETED, _return_value=value)


class FailedJob(JobReturn):
    """A job that failed. Hydra's own class prints a line for each more."""

    @property  # type: ignore[misc]  # Hydra's has a setter
    def return_value(self) -> Any:
        raise JobError(f"A job failed: {' '.join(self.overrides or [])}")
