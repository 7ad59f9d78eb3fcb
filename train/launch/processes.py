"""The processes of a sweep's jobs, on this machine or on SLURM."""

import multiprocessing
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.util import find_spec
from multiprocessing.forkserver import ensure_running
from multiprocessing.process import BaseProcess
from typing import Any

from conf.errors import UsageError
from train.launch.resources import Share, share
from train.launch.sweep import Job, job_result
from train.launch.worker import run_worker
from train.runtime.process import PATIENCE, block_sigint

PRELOADED = ["yardstick", "train.launch.preload"]  # the first finds the second, wherever the command runs


class LocalProcesses:
    """Processes that a server forks, which has imported torch once, so that jobs start at once."""

    every = 0.05  # seconds between two looks at them

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOADED)
        with block_sigint():
            ensure_running()

    def start(self, job: Job, share: Share) -> BaseProcess:
        process = self.context.Process(target=run_worker, args=(job, share))
        process.start()
        return process


class SlurmProcess:
    """The processes of a job on SLURM; their log and DONE say how they ended."""

    def __init__(self, job: Any) -> None:
        self.job = job  # of submitit

    @property
    def exitcode(self) -> int | None:
        return 0 if self.job.done() else None

    def terminate(self) -> None:
        self.job.cancel(check=False)

    kill = terminate


class SlurmArray:
    """Jobs that are submitted at once, as one array."""

    every = 1.0

    def __init__(self, options: Mapping[str, object], jobs: Sequence[Job]) -> None:
        if find_spec("submitit") is None:
            raise UsageError("hydra/launcher=slurm needs another package: pip install -e '.[launchers]'")
        from submitit import AutoExecutor

        chosen = dict(options) | array_sizes(options, jobs)
        folder, shared = str(chosen.pop("submitit_folder")), AutoExecutor._valid_parameters()
        try:
            executor = AutoExecutor(folder, cluster="slurm")
            executor.update_parameters(
                **{key if key in shared else f"slurm_{key}": value for key, value in chosen.items()}
            )
        except Exception as error:  # submitit raises RuntimeError, NameError and its own
            text = str(error).partition("\n")[0].rstrip(".")
            raise UsageError(f"hydra/launcher=slurm cannot start: {text}.") from error
        with executor.batch():
            self.submitted = {job.folder: executor.submit(run_worker, job, Share()) for job in jobs}

    def start(self, job: Job, share: Share) -> SlurmProcess:
        return SlurmProcess(self.submitted[job.folder])


JobProcess = BaseProcess | SlurmProcess


def array_sizes(options: Mapping[str, object], jobs: Sequence[Job]) -> dict[str, object]:
    """Return the options that follow from the settings of the jobs."""
    config = jobs[0].config
    devices, nodes = config.trainer.devices, config.trainer.num_nodes
    if any((job.config.trainer.devices, job.config.trainer.num_nodes) != (devices, nodes) for job in jobs):
        raise UsageError(
            "Jobs on SLURM that differ in trainer.devices or trainer.num_nodes need a sweep each."
        )
    if not isinstance(devices, int) or devices < 1:
        raise UsageError(f"trainer.devices={devices} should be a number on SLURM, which is asked for it.")
    result: dict[str, object] = {"tasks_per_node": devices, "nodes": nodes}
    if config.trainer.accelerator in ("gpu", "cuda"):
        result["gpus_per_node"] = options["gpus_per_node"] or devices
    if config.jobs != "auto":
        result["array_parallelism"] = config.jobs
    return result


def run_all(jobs: Sequence[Job], starter: LocalProcesses | SlurmArray, side_by_side: int) -> None:
    """Run jobs, so many at a time, and print how each ended. If this is interrupted, stop them, each with a
    state to resume from."""
    began, waiting = time.perf_counter(), list(jobs)
    running: dict[int, tuple[Job, JobProcess, float]] = {}  # by slot; and since when
    try:
        while waiting or running:
            for slot in set(range(side_by_side)) - running.keys():
                if waiting:
                    job = waiting.pop(0)
                    job.folder.mkdir(parents=True, exist_ok=True)
                    process = starter.start(job, share(job.config, slot, side_by_side))
                    running[slot] = job, process, time.perf_counter()
            time.sleep(starter.every)
            for slot in [slot for slot, entry in running.items() if entry[1].exitcode is not None]:
                job, process, since = running.pop(slot)
                count, now = len(jobs) - len(waiting) - len(running), time.perf_counter()
                left = timedelta(seconds=round((now - began) * (len(jobs) / count - 1)))
                progress = f"({count} of {len(jobs)}{f', about {left} left' if left else ''})"
                result = job_result(job, process.exitcode or 0)
                print(f"{job.folder.name:<36} {now - since:6.0f} s  {result} {progress}", flush=True)
    except BaseException:
        stop([process for _, process, _ in running.values()])
        raise


def stop(processes: Sequence[JobProcess]) -> None:
    for process in processes:
        process.terminate()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and any(process.exitcode is None for process in processes):
        time.sleep(0.05)
    for process in processes:
        process.kill()
