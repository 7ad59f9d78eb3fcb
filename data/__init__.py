"""Text or task -> token ids -> Batch. Independent of models."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conf.errors import UsageError

if TYPE_CHECKING:
    from data.source import Source  # imports torch, which the name of a run does without

LARGEST = 1 << 30  # vocabulary


def load(settings: Mapping[str, Any], vocab: int, cache: Path) -> "Source":
    """Return the source that `settings`, the content of `conf/data/<name>.yaml` and its `name`, describe.

    What is costly to make is kept in the folder `cache`.
    """
    source: Source = instantiate(settings).open(vocab, Path(cache))
    return source


def vocabulary(settings: Mapping[str, Any]) -> int:
    """Return the number of token ids of a source. Raise UsageError where it is the model's choice."""
    source = instantiate(settings)
    tokenizer = getattr(source, "tokenizer", None)
    if tokenizer not in (None, "bpe"):
        from data.text.prepare import tokenizer_of

        return tokenizer_of(tokenizer, LARGEST, source.end_token, ()).vocab
    if not hasattr(source, "vocab"):
        raise UsageError("model.vocab=auto needs a tokenizer.json, bytes or a task: else give a number.")
    return int(source.vocab)


def identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with a digest in place of each file, folder or package that they name."""
    source = instantiate(settings)
    if hasattr(source, "identity"):
        return {"_target_": settings["_target_"], **source.identity()}
    return {
        key: identity(value) if isinstance(value, Mapping) and "_target_" in value else value
        for key, value in settings.items()
    }


def instantiate(settings: Mapping[str, Any]) -> Any:
    """Return a source that is not open yet: `_target_` names its class, the other settings are its
    parameters, and its `open(vocab, cache)` prepares it."""
    module, _, name = settings["_target_"].rpartition(".")
    return getattr(import_module(module), name)(**{k: v for k, v in settings.items() if k != "_target_"})
