"""Checks of parameters: those of methods, extensions and sources must be as their classes declare."""

import inspect
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, get_type_hints

from conf.errors import UsageError
from data import Data
from models.change import Change
from models.encoding import Encoding
from models.registry import ABOUT, OPTIONS, SHAPE
from train.config.schema import Config
from train.config.validation import as_setting, check_value, did_you_mean

METHODS = (Encoding, Sequence[Encoding])  # kinds of parameters that are built from settings of their own
GIVEN = ("encoding", "name")  # by whoever builds an extension or a source
SWITCHES = ("log_n", *OPTIONS)  # of any method


def check_parameters(config: Config) -> None:
    """Raise UsageError, with name, value and allowed values, if a parameter does not fit."""
    check("encoding", config.encoding.parameters, Encoding)
    if config.extension.parameters.get("_target_") is not None:
        check("extension", config.extension.parameters, Change)
    check("data", config.named_data, Data)


def check(key: str, settings: Mapping[str, Any], kind: type = object) -> None:
    """Check the class that `_target_` names, which must be a `kind`, with its parameters and all classes
    inside."""
    constructor = class_at(f"{key}._target_", settings.get("_target_"), kind)
    hints = get_type_hints(constructor.__init__, include_extras=True)  # type: ignore[misc]  # a class
    hints |= dict.fromkeys(SWITCHES, bool)
    parameters = {
        name: p for name, p in inspect.signature(constructor).parameters.items() if name not in SHAPE
    }
    known = [name for name, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for name in known:
        if parameters[name].default is inspect.Parameter.empty and name not in (*settings, *GIVEN):
            raise UsageError(f"{key}.{name} must be given: {constructor.__name__} has no default for it.")
    for name, value in settings.items():
        path = f"{key}.{name}"
        if name == "_target_" or (name in ("share", *ABOUT) and name not in known):  # read elsewhere
            continue
        if name not in (*known, *SWITCHES):
            raise UsageError(
                f"There is no setting '{path}'.{did_you_mean(name, known)} {constructor.__name__} has: "
                f"{', '.join(known) or 'none'}."
            )
        if hints.get(name) in METHODS:
            check_methods(path, value)
            continue
        if isinstance(value, Mapping) and "_target_" in value:
            check(path, value, Data)
            continue
        check_value(path, value, hints.get(name, Any))


def check_methods(key: str, value: Any) -> None:
    """Check the parameters of one method, or of several."""
    parts = value if isinstance(value, list) else [value]
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise UsageError(
            f"{key}={as_setting(value)} should be a method with its parameters, as in conf/encoding."
        )
    for number, part in enumerate(parts):
        check(key if part is value else f"{key}.{number}", part, Encoding)


def class_at(key: str, target: Any, kind: type) -> type:
    """Return the class at a dotted path."""
    module, _, name = target.rpartition(".") if isinstance(target, str) else ("", "", "")
    try:
        result = getattr(import_module(module), name, None) if module.strip(".") == module != "" else None
    except ModuleNotFoundError as error:
        hint = " Name the folder that it is in: methods=<folder>." if error.name == module else ""
        raise UsageError(f"{key}={target}: {module} cannot be imported: {error}.{hint}") from error
    if not (isinstance(result, type) and issubclass(result, kind)) or inspect.isabstract(result):
        wanted = f"a class of the kind {kind.__name__}" if kind is not object else "a class"
        raise UsageError(f"{key}={as_setting(target)} should be the dotted path of {wanted}.")
    return result
