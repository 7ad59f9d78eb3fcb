"""Processes that work as one, as srun starts them, with everything imported already."""

import os
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from tests.forked import SERVER, redirected
from tests.train.conftest import command

Run = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments
TOGETHER = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20_000 + os.getpid() % 20_000)}
SLURM = TOGETHER | {
    "SLURM_JOB_ID": "1",
    "SLURM_JOB_NAME": "run",
    "SLURM_NODEID": "0",
    "SLURM_NODELIST": "node",
}


def srun(count: int) -> list[dict[str, str]]:
    """The environment of each task."""
    tasks = {"SLURM_NTASKS": str(count), "SLURM_NTASKS_PER_NODE": str(count)}
    return [SLURM | tasks | {"SLURM_PROCID": str(n), "SLURM_LOCALID": str(n)} for n in range(count)]


def start(folder: Path, environments: list[dict[str, str]], run: Run) -> list[ForkServerProcess]:
    """A process in each environment; what it prints is left in the folder."""
    processes = []
    for number, environment in enumerate(environments):
        files = [folder / f"{number}.out", folder / f"{number}.err"]
        processes.append(SERVER.Process(target=redirected, args=(files, environment, *run)))
        processes[-1].start()
    return processes


def ended(folder: Path, processes: list[ForkServerProcess]) -> list[str]:
    """What they printed, once all have ended well."""
    for process in processes:
        process.join(200)
    told = [file.read_text() for file in sorted(folder.glob("?.*"))]
    assert [process.exitcode for process in processes] == [0] * len(processes), told
    return told


def together(folder: Path, count: int, *arguments: str, module: str = "train.__main__") -> None:
    """`srun python -m train ...` with so many tasks."""
    folder.mkdir(exist_ok=True)
    given = *arguments, f"trainer.devices={count}", "trainer.strategy=ddp", "wandb.mode=disabled"
    ended(folder, start(folder, srun(count), (command, (module, given))))
