"""The launchers that `hydra/launcher` names: this machine, or a cluster.

Hydra's own plugins compose the settings of a job again when it runs, maybe a day later, and stop at the first
job that fails. Here a job has its settings from the start, and the sweep waits for all jobs.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.forkserver import ensure_running
from multiprocessing.process import BaseProcess
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from conf.errors import UsageError
from train.config.schema import Config
from train.launch.resources import Share, per_gpu, width
from train.launch.worker import Job, Worker, run_worker
from train.runtime.signals import block_sigint, handle

PRELOADED = ["train.runtime.preload"]


@dataclass(frozen=True)
class RemoteProcess:
    """The process of a worker on a cluster, which belongs to the cluster's launcher."""

    future: Any  # done(), and result() or for several tasks results()
    ask: Callable[[], object]  # to end

    @property
    def exitcode(self) -> int | str | None:
        """Return its exit code, or a sentence if the worker failed; None until it ends."""
        if not self.future.done():
            return None
        try:
            codes = self.future.results() if hasattr(self.future, "results") else [self.future.result()]
        except Exception as error:  # of submitit and ray, which have none in common
            return str(error).partition("\n")[0].strip() or type(error).__name__
        return int(max(codes, key=abs))

    def terminate(self) -> None:
        if not self.future.done():
            self.ask()

    def kill(self) -> None:
        """Do nothing: the cluster's launcher ends the worker."""


JobProcess = BaseProcess | RemoteProcess  # a job on its way


@dataclass(frozen=True)
class Launcher:
    start: Callable[[Job, Share], JobProcess]
    width: Callable[[Config], int] = width  # how many jobs at a time
    batch: Callable[[], AbstractContextManager[None]] = nullcontext  # around all starts
    every: float = 0.05  # seconds between two looks at the jobs


@contextmanager
def basic(options: DictConfig, jobs: list[Job]) -> Iterator[Launcher]:
    """Yield a launcher of local processes, forked from a server that has imported torch once, so that jobs
    start at once."""
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

    yield Launcher(start)


@contextmanager
def submitit(options: DictConfig, jobs: list[Job]) -> Iterator[Launcher]:
    """Yield the launcher of SLURM or its local stand-in, with a task for each process of a job."""
    from submitit import AutoExecutor

    is_slurm = "partition" in options
    kind = "slurm" if is_slurm else "local"
    given = plain_options(options) | tasks(options, jobs)
    folder, timeouts = given.pop("submitit_folder"), given.pop("max_num_timeout", 3)
    executor = AutoExecutor(folder, cluster=kind, slurm_max_num_timeout=timeouts)
    shared = AutoExecutor._valid_parameters()
    executor.update_parameters(**{k if k in shared else f"{kind}_{k}": v for k, v in given.items()})

    def start(job: Job, share: Share) -> JobProcess:
        queued = executor.submit(Worker(), job, Share() if is_slurm else share)
        if is_slurm:
            return RemoteProcess(queued, lambda: queued.cancel(check=False))
        return RemoteProcess(queued, lambda: os.kill(int(queued.job_id), signal.SIGTERM))

    if is_slurm:
        yield Launcher(start, lambda config: len(jobs), executor.batch, every=1)
    else:
        yield Launcher(start, every=0.2)


def tasks(options: DictConfig, jobs: list[Job]) -> dict[str, int]:
    """Return the options that follow from the settings of the jobs, which form one array."""
    first, *others = [(processes(job), job.config.trainer.num_nodes) for job in jobs]
    if any(other != first for other in others):
        raise UsageError("jobs that differ in trainer.devices or trainer.num_nodes need a sweep each")
    result = {"tasks_per_node": first[0], "nodes": first[1]}
    if "gpus_per_node" in options and jobs[0].config.trainer.accelerator in ("gpu", "cuda"):
        result["gpus_per_node"] = options.gpus_per_node or first[0]
    if "array_parallelism" in options and jobs[0].config.jobs != "auto":
        result["array_parallelism"] = jobs[0].config.jobs
    return result


def processes(job: Job) -> int:
    """Return the number of processes on each node."""
    devices = job.config.trainer.devices
    if not isinstance(devices, int) or devices < 1:
        raise UsageError(f"trainer.devices={devices} should be a number")
    return devices


@contextmanager
def ray(options: DictConfig, jobs: list[Job]) -> Iterator[Launcher]:
    """Yield the launcher of the Ray cluster at `ray.init.address`, or of this machine: it runs as many jobs
    as fit."""
    import ray

    if any(processes(job) and job.config.trainer.num_nodes > 1 for job in jobs):
        raise UsageError("it gives a job one machine, so trainer.num_nodes should be 1")
    ray.init(**plain_options(options.ray.init))
    handle()  # again: Ray's own handler aborts
    has_gpus = "GPU" in ray.cluster_resources()

    def start(job: Job, share: Share) -> JobProcess:
        knobs, room = job.config.trainer, {"num_cpus": float(processes(job))}
        if has_gpus and knobs.accelerator != "cpu":
            room["num_gpus"] = processes(job) if knobs.is_distributed else 1 / per_gpu(job.config)
        room |= plain_options(options.ray.remote)
        task = ray.remote(Worker.__call__).options(**room)
        started = task.remote(Worker(), job, Share(max(1, int(room["num_cpus"]))))
        return RemoteProcess(started.future(), lambda: ray.cancel(started))

    limit = len(jobs) if jobs[0].config.jobs == "auto" else jobs[0].config.jobs
    try:
        yield Launcher(start, lambda config: limit, every=0.2)
    finally:
        ray.shutdown()


def plain_options(options: DictConfig) -> dict[str, Any]:
    content = cast(dict[str, Any], OmegaConf.to_container(options, resolve=True))
    content.pop("_target_", None)  # of Hydra's own plugin, where that is installed, too
    return content


LAUNCHERS = {"basic": basic, "ray": ray, "submitit_local": submitit, "submitit_slurm": submitit}


@contextmanager
def open_launcher(name: str, options: DictConfig, jobs: list[Job]) -> Iterator[Launcher]:
    """Yield the launcher of `hydra/launcher=<name>`."""
    if name not in LAUNCHERS:
        raise UsageError(f"hydra/launcher={name} should be one of {', '.join(LAUNCHERS)}.")
    package = name.partition("_")[0]
    if name != "basic" and find_spec(package) is None:
        extra = "ray" if package == "ray" else "launchers"
        raise UsageError(f"hydra/launcher={name} needs another package: pip install -e '.[{extra}]'")
    with ExitStack() as stack:
        try:
            launcher = stack.enter_context(LAUNCHERS[name](options, jobs))
        except Exception as error:  # of submitit or Ray, which have none in common
            text = str(error).partition("\n")[0].rstrip(".")
            raise UsageError(f"hydra/launcher={name} cannot start: {text}.") from error
        yield launcher
