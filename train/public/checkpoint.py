"""Checkpoints of transformers: a folder, a name on the Hub, or a GGUF file."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from conf.errors import UsageError
from data.disk import atomic_write
from train.fit.checkpoints import weights_digest
from train.public.model import PublicModel, public_model
from train.public.rope_parameters import Rope, ropes_of

PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl")
SAFE: dict[str, Any] = {"trust_remote_code": False}


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
    path = Path(place)
    if path.is_dir():
        check_folder(path)
    file = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    origin = str(path.parent) if file else place
    try:
        config = AutoConfig.from_pretrained(origin, **file, **SAFE)
        weights = {} if file else {"use_safetensors": True}
        inner = AutoModelForCausalLM.from_pretrained(origin, dtype=dtype, **file, **weights, **SAFE)
        tokenizer = AutoTokenizer.from_pretrained(origin, **file, **SAFE)
        text = tokenizer.backend_tokenizer.to_str()
    except (OSError, ValueError, KeyError, AttributeError, ImportError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UsageError(f"model={place} cannot be loaded by transformers: {reason}") from None
    ropes = ropes_of(config.get_text_config().to_dict())
    if length is not None:
        ropes = [replace(r, context=length, trained=length) if r.kind == "default" else r for r in ropes]
    written = folder / hashlib.sha256(text.encode()).hexdigest()[:16] / "tokenizer.json"
    written.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(written) as out:
        out.write(text.encode())
    model = public_model(inner, ropes)
    return Checkpoint(path.stem if file else path.name, model, tuple(ropes), written, weights_digest(inner))


def check_folder(path: Path) -> None:
    """Raise UsageError if a folder has its weights in pickles alone, which may run code."""
    pickles = [file for pattern in PICKLES for file in path.glob(pattern)]
    if pickles and not any(path.glob("*.safetensors")):
        raise UsageError(
            f"{path} has its weights in {pickles[0].name}, which may run code when it is read: convert it to "
            "safetensors."
        )


def rotations(ropes: Sequence[Rope]) -> str:
    """Return what the configuration says of rotations, for a log."""
    return "; ".join(f"{rope.layers}: {rope.kind}, base {rope.base:,.0f}" for rope in ropes)
