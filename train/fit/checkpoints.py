"""Checkpoints on the disk: `final.ckpt`, `step-<n>.ckpt` for `trainer.keep`, and `last.ckpt` while a training
goes on.

PyTorch's files are zip archives with a checksum for every part: damaged ones are never used.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO
from pydantic import ValidationError
from torch import Tensor, nn

from conf.errors import UsageError
from data.cache import atomic_write
from models.gpt import GPT
from train.results.about import Conditions
from train.runtime.ranks import is_rank_zero


@dataclass(frozen=True)
class TrainingFolder:
    """The files of one training: from initial weights, or further under an extension."""

    id: str
    folder: Path
    keep: tuple[int, ...] = ()  # steps whose weights stay

    @property
    def final(self) -> Path:
        return self.folder / "final.ckpt"

    @property
    def last(self) -> Path:
        """Return the file of the state to resume from."""
        return self.folder / "last.ckpt"

    @property
    def kept(self) -> list[Path]:
        return [self.at(step) for step in self.keep]

    def at(self, step: int) -> Path:
        return self.folder / f"step-{step}.ckpt"

    def is_resumable(self) -> bool:
        """Return whether the training can resume from its state; delete a damaged state."""
        if read_checkpoint(self.last).get("id") == self.id:
            return True
        if self.last.exists() and is_rank_zero():
            print(f"{self.last} is damaged: the training starts over.", flush=True)
            self.last.unlink()
        return False

    def forget(self) -> None:
        """Delete the state of the training, and what a crash left of it."""
        for state in (self.last, *self.folder.glob("*.part")):
            state.unlink(missing_ok=True)


class TrainingResult(Conditions):
    """The summary and the conditions of a training."""

    id: str
    history: list[tuple[int, float]]  # step, loss
    curves: tuple[tuple[int, dict[str, float]], ...] = ()  # step, the loss and what else is watched
    tokens_per_second: float
    seconds: float
    peak_memory: int | None
    diverged_at: int | None = None  # the step at which a loss or a weight was no finite number
    reason: str | None = None  # that it gives for it, and what may help


class Weights(TrainingResult, arbitrary_types_allowed=True):
    """The content of a file of weights."""

    model: dict[str, Tensor]

    @classmethod
    def read(cls, file: Path, id: str) -> "Weights | None":
        """Return the content; None if it is missing, damaged, or not of the training with this id."""
        try:
            content = cls.model_validate(read_checkpoint(file))
        except ValidationError:
            return None
        return content if content.id == id else None


class States(TorchCheckpointIO):
    """Checkpoint files that are whole at any time."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        with atomic_write(Path(path)) as out:
            torch.save(checkpoint, out)


def restore(file: Path, model: GPT, id: str) -> TrainingResult:
    """Load the weights of a checkpoint into a model of the same configuration."""
    content = Weights.read(file, id)
    if content is None:
        raise UsageError(
            f"{file} is missing, damaged, or not of the training {id}: delete {file.parent}/DONE and repeat "
            "the command in its run.json."
        )
    model.load_state_dict(content.model)
    return TrainingResult(**content.model_dump(exclude={"model"}))


def are_finite(weights: Mapping[str, Tensor]) -> bool:
    return all(bool(weight.isfinite().all()) for weight in weights.values())


def read_checkpoint(file: Path) -> dict[str, Any]:
    """Return the content of a checkpoint; empty if it is missing, damaged, or no mapping of plain values."""
    if not file.exists():
        return {}
    try:
        with ZipFile(file) as archive:
            is_whole = archive.testzip() is None
        content = torch.load(file, map_location="cpu", mmap=True, weights_only=True) if is_whole else {}
    except OSError:
        raise
    except Exception:  # what this program did not write can raise anything
        return {}
    return content if isinstance(content, dict) else {}


def weights_digest(model: nn.Module) -> str:
    """Return the sha256 of all weights and buffers of a model."""
    result = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        result.update(name.encode())
        result.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return result.hexdigest()
