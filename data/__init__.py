"""Text or task -> token ids -> Batch. Independent of models."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from conf.errors import UsageError

if TYPE_CHECKING:
    from data.source import Source  # imports torch, which the name of a run does without


class Data(ABC):
    """A choice of data that is not read yet: a dataclass, whose fields are the keys of `conf/data/*.yaml`."""

    name: str
    of_tests: ClassVar[tuple[str, ...]] = ()  # the fields on which held-out data alone depend

    @abstractmethod
    def open(self, vocab: int, cache: Path) -> "Source":
        """Return the source for a model with so many token ids. What is costly to make is kept in `cache`."""

    def vocabulary(self) -> int | None:
        """Return the number of token ids; None where it is the model's choice."""
        return None

    def identity(self) -> dict[str, object]:
        """Return the settings, with a digest in place of each file, folder or package that they name."""
        known = {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]  # a subclass is one
        parts = {key: value.identity() if isinstance(value, Data) else value for key, value in known.items()}
        return {"_target_": f"{type(self).__module__}.{type(self).__qualname__}", **parts}


def load(settings: Mapping[str, object], vocab: int, cache: Path) -> "Source":
    """Return the source that `settings`, the content of `conf/data/<name>.yaml` and its `name`, describe."""
    return instantiate(settings).open(vocab, Path(cache))


def instantiate(settings: Mapping[str, object]) -> Data:
    """Return an object of the class `_target_` with the other settings; nested data is built likewise."""
    module, _, name = str(settings["_target_"]).rpartition(".")
    parameters: dict[str, Any] = {
        key: instantiate(value) if isinstance(value, Mapping) and "_target_" in value else value
        for key, value in settings.items()
        if key != "_target_"
    }
    data: Data = getattr(import_module(module), name)(**parameters)
    return data


def vocabulary(settings: Mapping[str, object]) -> int:
    """Return the number of token ids of a source. Raise UsageError where it is the model's choice."""
    size = instantiate(settings).vocabulary()
    if size is None:
        raise UsageError("model.vocab=auto needs a tokenizer.json, bytes or a task: else give a number.")
    return size


def identity(settings: Mapping[str, object]) -> dict[str, object]:
    """Return settings with digests in place of the files, folders and packages that they name."""
    return instantiate(settings).identity()
