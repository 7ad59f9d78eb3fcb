"""An array of jobs on SLURM, by submitit."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from conf.errors import UsageError
from train.launch.sweep import Job


@dataclass(frozen=True)
class SlurmProcess:
    """The processes of a job on SLURM; their log and DONE say how they ended."""

    job: Any  # of submitit

    @property
    def exitcode(self) -> int | None:
        return 0 if self.job.done() else None

    def terminate(self) -> None:
        self.job.cancel(check=False)

    kill = terminate


@contextmanager
def open_array(options: Mapping[str, Any], jobs: list[Job]) -> Iterator[Callable[..., Any]]:
    """Yield the function that submits a call, as a job of one array."""
    if find_spec("submitit") is None:
        raise UsageError("hydra/launcher=slurm needs another package: pip install -e '.[launchers]'")
    from submitit import AutoExecutor

    chosen = dict(options) | sizes(options, jobs)
    folder, shared = chosen.pop("submitit_folder"), AutoExecutor._valid_parameters()
    try:
        executor = AutoExecutor(folder, cluster="slurm")
        executor.update_parameters(
            **{key if key in shared else f"slurm_{key}": value for key, value in chosen.items()}
        )
    except Exception as error:  # submitit raises RuntimeError, NameError and its own
        text = str(error).partition("\n")[0].rstrip(".")
        raise UsageError(f"hydra/launcher=slurm cannot start: {text}.") from error
    with executor.batch():
        yield executor.submit


def sizes(options: Mapping[str, Any], jobs: list[Job]) -> dict[str, int]:
    """Return the options that follow from the settings of the jobs, which form one array."""
    config = jobs[0].config
    devices, nodes = config.trainer.devices, config.trainer.num_nodes
    if any((job.config.trainer.devices, job.config.trainer.num_nodes) != (devices, nodes) for job in jobs):
        raise UsageError(
            "Jobs on SLURM that differ in trainer.devices or trainer.num_nodes need a sweep each."
        )
    if not isinstance(devices, int) or devices < 1:
        raise UsageError(f"trainer.devices={devices} should be a number on SLURM, which is asked for it.")
    result = {"tasks_per_node": devices, "nodes": nodes}
    if config.trainer.accelerator in ("gpu", "cuda"):
        result["gpus_per_node"] = options["gpus_per_node"] or devices
    if config.jobs != "auto":
        result["array_parallelism"] = config.jobs
    return result
