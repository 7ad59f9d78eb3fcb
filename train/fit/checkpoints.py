"""Checkpoints on the disk: `final.ckpt`, `step-<n>.ckpt` of what `trainer.keep` asks for, and while a
training goes on its last two states, `last.ckpt` and `previous.ckpt`.

PyTorch's files are zip archives, with a checksum of every part: what was damaged is never used.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from filelock import FileLock, Timeout
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import Tensor

from conf.errors import UsageError
from data.disk import written
from models.gpt import GPT
from train.runtime.ranks import is_rank_zero


@dataclass(frozen=True)
class Trained:
    """What a training left behind."""

    cell: str
    history: list[tuple[int, float]]  # step, loss
    tokens_per_second: float
    seconds: float
    peak_memory: int | None
    machine: str | None = None  # rounding depends on these three; None: not known
    threads: int | None = None
    processes: int | None = None


class States(TorchCheckpointIO):
    """The states of a training, each written beside the one before, which stays as `previous.ckpt`."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        last = Path(path)
        with written(last) as out:
            torch.save(checkpoint, out)
            if last.exists():
                os.replace(last, previous(last))


def previous(last: Path) -> Path:
    return last.with_name("previous.ckpt")


def newest(last: Path, cell: str) -> Path | None:
    """The newest state of a training that is whole."""
    for file in (last, previous(last)):
        if is_of(file, cell):
            return file
        if file.exists() and is_rank_zero():
            print(f"{file} is damaged: the training goes on from before it.", flush=True)
            file.unlink()
    return None


def forget(last: Path) -> None:
    """Delete the states of a training, and what a crash left of one."""
    for state in (last, previous(last), *last.parent.glob("*.part")):
        state.unlink(missing_ok=True)


def save(file: Path, weights: dict[str, Tensor], trained: Trained) -> None:
    with written(file) as out:
        torch.save({"model": weights} | asdict(trained), out)


def restore(file: Path, model: GPT, cell: str) -> Trained:
    """Put the weights of a checkpoint into a model of the same configuration."""
    if not is_whole(file):
        state = "damaged" if file.exists() else "missing"
        raise UsageError(
            f"{file} is {state}: delete {file.parent}/DONE and repeat the command in its run.json."
        )
    content = torch.load(file, map_location="cpu", weights_only=True)
    weights, trained = content.pop("model"), Trained(**content)
    if trained.cell != cell:
        raise UsageError(
            f"{file} is of another configuration ({trained.cell}, not {cell}): choose another run folder."
        )
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise UsageError(
            f"{file} does not fit this model: it was trained with other code or another shape."
        ) from None
    return trained


def is_of(file: Path, cell: str) -> bool:
    """Whether a checkpoint is there, whole, and of this training."""
    return is_whole(file) and bool(torch.load(file, mmap=True, weights_only=True).get("cell") == cell)


def is_whole(file: Path) -> bool:
    """Whether a checkpoint is there, and what was written."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return False
    return has_its_checksums(file, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@cache
def has_its_checksums(file: Path, inode: int, size: int, time: int) -> bool:
    try:
        with ZipFile(file) as archive:
            return archive.testzip() is None
    except OSError:
        raise
    except Exception:  # a damaged archive can raise anything
        return False


@contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """One job at a time in this folder; the other ranks of the same job follow their first."""
    if not is_rank_zero():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{what}: waiting for it.", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
