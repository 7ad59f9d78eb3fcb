"""Checkpoints of transformers: a folder, a name on the Hub, or a GGUF file."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from filelock import FileLock
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from conf.errors import UsageError
from data.cache import atomic_write
from train.fit.checkpoints import weights_digest
from train.public.model import PublicModel, public_model
from train.public.rope_parameters import Rope, read_config, ropes_of

PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that is loaded."""

    name: str
    model: PublicModel
    ropes: tuple[Rope, ...]
    tokenizer: Path  # tokenizer.json
    digest: str  # sha256 of all weights

    @property
    def trained_length(self) -> int:
        """Return the longest context that the configuration promises."""
        return max(rope.context for rope in self.ropes)


def load_checkpoint(place: str, dtype: torch.dtype, folder: Path, length: int | None = None) -> Checkpoint:
    """Return the checkpoint at a place; `length` replaces its training length. Its tokenizer is written to
    `folder`.

    Raise UsageError if it is none, if it would run code of its own, or if our attention changes its logits.
    """
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    path = Path(place)
    check_place(path)
    origin, options = arguments(place)
    try:
        config = AutoConfig.from_pretrained(origin, **options)
        inner = load_weights(place, dtype)
        tokenizer = AutoTokenizer.from_pretrained(origin, **options)
        text = tokenizer.backend_tokenizer.to_str()
    except Exception as error:  # of transformers, tokenizers, safetensors and gguf, which share no class
        reason = " ".join(str(error).split())[:300]
        raise UsageError(f"model={place} cannot be loaded by transformers: {reason}") from None
    ropes = ropes_of(config.get_text_config().to_dict())
    if length is not None:
        ropes = [replace(r, context=length, trained=length) if r.kind == "default" else r for r in ropes]
    written = write_tokenizer(text, folder)
    model = public_model(inner, ropes)
    name = path.stem if path.suffix == ".gguf" else path.name
    return Checkpoint(name, model, tuple(ropes), written, weights_digest(inner))


def write_tokenizer(text: str, folder: Path) -> Path:
    """Write a tokenizer.json below a folder, one process after another, and return its path."""
    file = folder / hashlib.sha256(text.encode()).hexdigest()[:16] / "tokenizer.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_name(".lock")), atomic_write(file) as out:
        out.write(text.encode())
    return file


def load_weights(place: str, dtype: torch.dtype, **settings: Any) -> PreTrainedModel:
    """Return the model at a place, as transformers has it; no pickle is read."""
    origin, options = arguments(place)
    settings |= options if "gguf_file" in options else options | {"use_safetensors": True}
    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(origin, dtype=dtype, **settings)
    return model


def arguments(place: str) -> tuple[str, dict[str, Any]]:
    """Return what `from_pretrained` of transformers takes for a place; no code of a checkpoint runs."""
    path = Path(place)
    file = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    return str(path.parent) if file else place, {"trust_remote_code": False, **file}


def configuration(place: str) -> Mapping[str, Any]:
    """Return the configuration of the checkpoint at a place, as its file has it."""
    path = Path(place)
    if path.is_dir():
        return read_config(path)
    origin, options = arguments(place)
    config = AutoConfig.from_pretrained(origin, **options)
    return cast(Mapping[str, Any], config.get_text_config().to_dict())


def check_place(path: Path) -> None:
    """Raise UsageError if a path leads nowhere, so that no path is looked up on the Hub, or to a folder with
    its weights in pickles alone, which may run code."""
    is_path = path.is_absolute() or path.suffix == ".gguf" or len(path.parts) != 2
    if is_path and not path.exists():
        raise UsageError(
            f"There is no {path}: name a folder, a .gguf file, or organisation/model of the Hub."
        )
    pickles = [file for pattern in PICKLES for file in path.glob(pattern)]
    if pickles and not any(path.glob("*.safetensors")):
        raise UsageError(
            f"{path} has its weights in {pickles[0].name}, which may run code when it is read: convert it to "
            "safetensors."
        )


def rotations(ropes: Sequence[Rope]) -> str:
    """Return what the configuration says of rotations, for a log."""
    return "; ".join(f"{rope.layers}: {rope.kind}, base {rope.base:,.0f}" for rope in ropes)
