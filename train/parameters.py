"""Whether the parameters of a method, an extension or a source are of the kinds that its class declares."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, get_type_hints

from train.config import Config
from train.validation import check_value


def check_parameters(config: Config) -> None:
    """ValueError names a parameter, its value and what is allowed."""
    check("encoding", config.encoding.parameters)
    check("extension", config.extension.parameters)
    check("data", config.data)


def check(key: str, settings: Any) -> None:
    """Of the class that `_target_` names, and of all inside it."""
    if isinstance(settings, list):
        for number, item in enumerate(settings):
            check(f"{key}.{number}", item)
    if not isinstance(settings, Mapping):
        return
    declared = hints(settings.get("_target_"))
    for name, value in settings.items():
        if name in declared and not holds_target(value):
            check_value(f"{key}.{name}", value, declared[name])
        check(f"{key}.{name}", value)


def hints(target: str | None) -> dict[str, Any]:
    """The declared types of a class's parameters."""
    if target is None:
        return {}
    module, _, name = target.rpartition(".")
    return get_type_hints(getattr(import_module(module), name).__init__)


def holds_target(value: Any) -> bool:
    """Whether a value is built from settings of its own."""
    if isinstance(value, list):
        return any(map(holds_target, value))
    return isinstance(value, Mapping) and "_target_" in value
