"""Text or task -> token ids -> Batch. Independent of models."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from data.source import Source  # imports torch, which the name of a run does without


def load(settings: Mapping[str, Any], vocab: int, cache: Path) -> "Source":
    """Return the source that `settings`, the content of `conf/data/<name>.yaml` and its `name`, describe.

    What is costly to make is kept in the folder `cache`.
    """
    source: Source = instantiate(settings).open(vocab, Path(cache))
    return source


def identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which a digest of its content stands for each file, folder or package."""
    source = instantiate(settings)
    if hasattr(source, "identity"):
        return {"_target_": settings["_target_"], **source.identity()}
    return {
        key: identity(value) if isinstance(value, Mapping) and "_target_" in value else value
        for key, value in settings.items()
    }


def instantiate(settings: Mapping[str, Any]) -> Any:
    """Return the same before it is opened: `_target_` names a class, the other settings are its parameters,
    and `open(vocab, cache)` makes the source."""
    module, _, name = settings["_target_"].rpartition(".")
    return getattr(import_module(module), name)(**{k: v for k, v in settings.items() if k != "_target_"})
