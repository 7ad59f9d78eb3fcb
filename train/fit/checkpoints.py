"""Checkpoints on the disk: `final.ckpt`, `step-<n>.ckpt` of what `trainer.keep` asks for, and while a
training goes on its last state, `last.ckpt`.

PyTorch's files are zip archives, with a checksum of every part: what was damaged is never used.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from filelock import FileLock, Timeout
from lightning.pytorch.plugins.io import TorchCheckpointIO
from pydantic import ValidationError
from torch import Tensor

from conf.errors import UsageError
from data.disk import atomic_write
from models.gpt import GPT
from train.config.validation import Section
from train.runtime.ranks import is_rank_zero

FINAL, LAST = "final.ckpt", "last.ckpt"


def kept_at(step: int) -> str:
    """Return the name of the weights that are kept of a step."""
    return f"step-{step}.ckpt"


class Trained(Section):
    """The summary of a training."""

    cell: str
    history: list[tuple[int, float]]  # step, loss
    tokens_per_second: float
    seconds: float
    peak_memory: int | None
    machine: str | None = None  # rounding depends on these three; None: not known
    threads: int | None = None
    processes: int | None = None


class Checkpoint(Trained, arbitrary_types_allowed=True):
    """The content of a file of weights."""

    model: dict[str, Tensor]


class States(TorchCheckpointIO):
    """The state of a training, which is whole at any time."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        with atomic_write(Path(path)) as out:
            torch.save(checkpoint, out)


def is_resumable(last: Path, cell: str) -> bool:
    """Whether a training can go on from its state; one that is damaged is deleted."""
    if loaded(last).get("cell") == cell:
        return True
    if last.exists() and is_rank_zero():
        print(f"{last} is damaged: the training starts over.", flush=True)
        last.unlink()
    return False


def forget(last: Path) -> None:
    """Delete the state of a training, and what a crash left of one."""
    for state in (last, *last.parent.glob("*.part")):
        state.unlink(missing_ok=True)


def save_checkpoint(file: Path, weights: dict[str, Tensor], trained: Trained) -> None:
    with atomic_write(file) as out:
        torch.save({"model": weights} | trained.model_dump(), out)


def restore(file: Path, model: GPT, cell: str) -> Trained:
    """Put the weights of a checkpoint into a model of the same configuration."""
    content = checkpoint(file)
    if content is None:
        state = "damaged, or not a checkpoint of this program" if file.exists() else "missing"
        raise UsageError(
            f"{file} is {state}: delete {file.parent}/DONE and repeat the command in its run.json."
        )
    if content.cell != cell:
        raise UsageError(
            f"{file} is of another configuration ({content.cell}, not {cell}): choose another run folder."
        )
    if forms(content.model) != forms(model.state_dict()):
        raise UsageError(f"{file} does not fit this model: it was trained with other code or another shape.")
    model.load_state_dict(content.model)
    if not is_finite(model):
        raise UsageError(f"{file} has weights that are not finite: delete it, and train again.")
    return Trained(**content.model_dump(exclude={"model"}))


def forms(weights: Mapping[str, Tensor]) -> dict[str, tuple[object, ...]]:
    """Return what must agree between the weights of a file and those of a model."""
    return {name: (weight.shape, weight.dtype, weight.layout) for name, weight in weights.items()}


def is_finite(model: GPT) -> bool:
    """Whether every weight is a finite number."""
    return all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def is_of(file: Path, cell: str) -> bool:
    """Whether weights are there, whole, and of this training."""
    content = checkpoint(file)
    return content is not None and content.cell == cell


def checkpoint(file: Path) -> Checkpoint | None:
    """Return what a file of weights holds; None where it is missing, damaged, or not of this program."""
    try:
        return Checkpoint.model_validate(loaded(file))
    except ValidationError:
        return None


def loaded(file: Path) -> dict[str, Any]:
    """Return what a checkpoint holds; nothing where it is missing, damaged, or no mapping of plain values."""
    if not is_whole(file):
        return {}
    try:
        content = torch.load(file, map_location="cpu", mmap=True, weights_only=True)
    except OSError:
        raise
    except Exception:  # what this program did not write can raise anything
        return {}
    return content if isinstance(content, dict) else {}


def is_whole(file: Path) -> bool:
    """Whether a checkpoint is there, and what was written."""
    if not file.is_file():  # a pipe would be waited for
        return False
    stat = file.stat()
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
def locked(folder: Path, message: str) -> Iterator[None]:
    """One job at a time in this folder; the other ranks of the same job follow their first."""
    if not is_rank_zero():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{message}: waiting for it.", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
