"""The rank of this process in its run, known before torch.distributed starts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from conf.errors import UsageError

LAUNCHERS = (("RANK",), ("SLURM_PROCID", "NODE_RANK", "LOCAL_RANK"))
"""torchrun numbers all processes, SLURM too; Lightning's own launch numbers nodes, and processes of each."""
ROUND = 60.0  # seconds of waiting for a lock, after which the other processes are told: their patience ends
T = TypeVar("T")


def is_rank_zero() -> bool:
    """Return whether this process is the first of the run: it alone trains under the lock, writes, and
    reports to W&B."""
    names = next((names for names in LAUNCHERS if names[0] in os.environ), LAUNCHERS[-1])
    return all(os.environ.get(name, "0") == "0" for name in names)


def is_connected() -> bool:
    """Return whether the processes of this run can talk to each other."""
    from torch import distributed

    return distributed.is_available() and distributed.is_initialized()


def decision_of_rank_zero(decision: T) -> T:
    """Return what the first process decided, on every process that is connected to it. Those that Lightning
    starts later than that find its decision on the disk."""
    if not is_connected():
        return decision
    from torch import distributed

    shared = [decision]
    distributed.broadcast_object_list(shared)
    return shared[0]


@contextmanager
def locked(folder: Path, message: str) -> Iterator[None]:
    """Lock a folder for one job at a time; the other processes of the job wait with their first."""
    if not is_rank_zero() and not is_connected():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock, patience = FileLock(folder / ".lock"), 0.0
    while not decision_of_rank_zero(is_rank_zero() and is_acquired(lock, patience)):
        if is_rank_zero() and not patience:
            print(f"{message}: waiting for it.", flush=True)
        patience = ROUND
    try:
        yield
    finally:
        lock.release()


def is_acquired(lock: FileLock, patience: float) -> bool:
    """Return whether the lock could be had within some seconds."""
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        return False
    except OSError as error:  # of the file system
        reason = f"{lock.lock_file} cannot be locked: {error.strerror or error}"
        raise UsageError(f"{reason}. Choose outputs= on a file system that has locks.") from error
    return True
