"""A trained model: found where the same training was done before, else made.

`<outputs>/trained/<encoding>-s<seed>-<hash>/final.ckpt` holds it; the hash covers everything
that determines the weights. A lock lets one process train and the others wait for it.
"""

import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from data.source import Source
from models.gpt import GPT
from train.module import Training
from train.precision import forget_peak, peak_memory, rank
from train.progress import Progress
from train.settings import digest

Log = Callable[[int, dict[str, float]], None]
Make = Callable[..., Trainer]  # a Trainer with these further arguments


@dataclass(frozen=True)
class Trained:
    """What a training left behind."""

    cell: str
    file: Path
    history: list[tuple[int, float]]  # step, loss
    tokens_per_second: float
    seconds: float
    peak_memory: int | None


def trained(
    model: GPT,
    source: Source,
    settings: dict[str, Any],
    cell: str,
    length: int,
    steps: int,
    make: Make,
    log: Log,
    suffix: str = "",
) -> Trained:
    """`model` with trained weights: from the file of this cell, or by training now."""
    names, seed = settings["names"], settings["seed"]
    home = Path(settings["outputs"]) / "trained" / f"{names['encoding']}-s{seed}{suffix}-{cell}"
    final = home / "final.ckpt"
    with alone(home):
        if not final.exists():
            fit(model, source, settings, cell, length, steps, home, make, log)
    return restore(model, final, cell)


def restore(model: GPT, file: Path, cell: str) -> Trained:
    """Put the weights of a checkpoint into a model of the same configuration."""
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
        found = content["cell"]
    except (RuntimeError, EOFError, KeyError, pickle.UnpicklingError, OSError) as error:
        raise ValueError(
            f"{file} cannot be read ({type(error).__name__}): delete {file.parent} and run again."
        ) from None
    if found != cell:
        raise ValueError(
            f"{file} is of another configuration ({found}, not {cell}): choose another run folder."
        )
    try:
        model.load_state_dict(content["model"])
    except RuntimeError:
        raise ValueError(
            f"{file} does not fit this model: it was trained with other code or another shape."
        ) from None
    return Trained(
        cell, file, *(content[key] for key in ("history", "tokens_per_second", "seconds", "peak_memory"))
    )


def fit(
    model: GPT,
    source: Source,
    settings: dict[str, Any],
    cell: str,
    length: int,
    steps: int,
    home: Path,
    make: Make,
    log: Log,
) -> None:
    """Train and write `final.ckpt`; an interrupted training goes on from its last checkpoint."""
    knobs = settings["trainer"]
    progress = Progress(knobs["log_every"], log)
    keep = ModelCheckpoint(
        home, filename="last", every_n_train_steps=knobs["checkpoint_every"], enable_version_counter=False
    )
    trainer = make(max_steps=steps, callbacks=[progress, keep], accumulate_grad_batches=knobs["accumulate"])
    if knobs["compile"]:
        for block in model.blocks:
            block.compile()
    last = home / "last.ckpt"
    forget_peak()
    started = time.perf_counter()
    try:
        trainer.fit(Training(model, source, settings, length), ckpt_path=str(last) if last.exists() else None)
    except (EOFError, pickle.UnpicklingError, KeyError) as error:
        raise ValueError(
            f"{last} cannot be read ({type(error).__name__}): delete it and run again."
        ) from None
    if trainer.interrupted:
        raise KeyboardInterrupt
    speeds = sorted(progress.speeds)
    content = {
        "cell": cell,
        "model": model.state_dict(),
        "history": progress.history,
        "tokens_per_second": speeds[len(speeds) // 2] if speeds else 0.0,
        "seconds": time.perf_counter() - started,
        "peak_memory": peak_memory(),
    }
    if trainer.is_global_zero:
        home.mkdir(parents=True, exist_ok=True)
        aside = home / "final.ckpt.part"
        torch.save(content, aside)
        os.replace(aside, home / "final.ckpt")
        last.unlink(missing_ok=True)
    trainer.strategy.barrier()


def finetuned_cell(cell: str, extension: dict[str, Any], name: str) -> str:
    """The name of a training that goes on from another one, under an extension."""
    return digest([cell, name, extension])[:8]


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """One job at a time in this folder; the other ranks of the same job follow their first."""
    if rank() != 0:
        yield
        return
    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"Another run is training {home.name}: waiting for it.", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
