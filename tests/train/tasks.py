"""Processes that work as one, as srun starts them, with everything imported already."""

import os
from pathlib import Path

from tests.forked import SERVER, redirected
from tests.train.conftest import command

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


def together(folder: Path, count: int, *arguments: str, module: str = "train.__main__") -> None:
    """`srun python -m train ...` with so many tasks; what they print is left in the folder."""
    folder.mkdir(exist_ok=True)
    given = *arguments, f"trainer.devices={count}", "trainer.strategy=ddp", "wandb.mode=disabled"
    processes = []
    for number, environment in enumerate(srun(count)):
        files = [folder / f"{number}.out", folder / f"{number}.err"]
        processes.append(
            SERVER.Process(target=redirected, args=(files, environment, command, (module, given)))
        )
        processes[-1].start()
    for process in processes:
        process.join(200)
    told = [file.read_text() for file in sorted(folder.glob("?.*"))]
    assert [process.exitcode for process in processes] == [0] * count, told
