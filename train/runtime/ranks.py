"""The rank of this process in its run, known before torch.distributed starts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

LAUNCHERS = (("RANK",), ("SLURM_PROCID", "NODE_RANK", "LOCAL_RANK"))
"""torchrun numbers all processes, SLURM too; Lightning's own launch numbers nodes, and processes of each."""


def is_rank_zero() -> bool:
    """Return whether this process is the first of the run: it alone trains under the lock, writes, and
    reports to W&B."""
    names = next((names for names in LAUNCHERS if names[0] in os.environ), LAUNCHERS[-1])
    return all(os.environ.get(name, "0") == "0" for name in names)


@contextmanager
def locked(folder: Path, message: str) -> Iterator[None]:
    """Lock a folder for one job at a time; the other ranks of the same job follow their first."""
    if not is_rank_zero():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        turn = lock.acquire(timeout=0)
    except Timeout:
        print(f"{message}: waiting for it.", flush=True)
        turn = lock.acquire()
    with turn:
        yield
