"""Of torchmetrics only what Lightning needs, two classes, until somebody asks for more.

All of it, with scipy.signal and, where they are installed, transformers, takes a third of the time in which a
command starts (decision 0032).
"""

import logging
import sys
from contextlib import suppress
from importlib import import_module, metadata
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

NAME = "torchmetrics"
PARTS = {"Metric": f"{NAME}.metric", "MetricCollection": f"{NAME}.collections"}


class Package(ModuleType):
    """torchmetrics, imported whole as soon as it is asked for anything but `PARTS`."""

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return metadata.version(NAME)
        if name == "_logger":
            return logging.getLogger(NAME)
        if name.startswith("__"):
            raise AttributeError(name)
        if name in PARTS:
            with suppress(ImportError):
                import_module(f"{NAME}.utilities")  # imports Metric in the order that works
                return getattr(import_module(PARTS[name]), name)
        self.__class__ = ModuleType  # type: ignore[assignment]  # as what follows asks it for names again
        spec = self.__spec__
        assert isinstance(spec, ModuleSpec)
        assert spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


def import_in_parts() -> None:
    """From now on; nothing where it is imported already."""
    spec = find_spec(NAME) if NAME not in sys.modules else None
    if spec is not None:
        module = module_from_spec(spec)
        module.__class__ = Package
        sys.modules[NAME] = module
