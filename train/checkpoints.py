"""Trained weights on the disk: `final.ckpt`, and `step-<n>.ckpt` of what `trainer.keep` asks for."""

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from filelock import FileLock, Timeout

from models.gpt import GPT
from train.ranks import is_rank_zero

UNREADABLE = (RuntimeError, EOFError, KeyError, TypeError, pickle.UnpicklingError, OSError)


@dataclass(frozen=True)
class Trained:
    """What a training left behind."""

    cell: str
    history: list[tuple[int, float]]  # step, loss
    tokens_per_second: float
    seconds: float
    peak_memory: int | None


def save(file: Path, model: GPT, trained: Trained) -> None:
    """The file is whole or not there."""
    part = file.with_name(f"{file.name}.part")
    file.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.state_dict()} | asdict(trained), part)
    os.replace(part, file)


def restore(file: Path, model: GPT, cell: str) -> Trained:
    """Put the weights of a checkpoint into a model of the same configuration."""
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
        weights, trained = content.pop("model"), Trained(**content)
    except UNREADABLE as error:
        raise ValueError(
            f"{file} cannot be read ({type(error).__name__}): delete {file.parent} and run again."
        ) from None
    if trained.cell != cell:
        raise ValueError(
            f"{file} is of another configuration ({trained.cell}, not {cell}): choose another run folder."
        )
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise ValueError(
            f"{file} does not fit this model: it was trained with other code or another shape."
        ) from None
    return trained


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One job at a time in this folder; the other ranks of the same job follow their first."""
    if not is_rank_zero():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"Another run is training {folder.name}: waiting for it.", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
