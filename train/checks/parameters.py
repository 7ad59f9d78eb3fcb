"""Checks of parameters: those of methods, extensions and sources must be as their classes declare."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from pydantic import create_model

from conf.errors import UsageError
from data import Data
from models.change import Change
from models.encoding import Encoding
from models.registry import ABOUT, OPTIONS, SHAPE
from train.config.schema import Config
from train.config.validation import Section, as_setting, named_object

METHODS = (Encoding, Sequence[Encoding])  # kinds of parameters that are built from settings of their own
GIVEN = ("encoding", "name")  # by whoever builds an extension or a source


def check_parameters(config: Config) -> None:
    """Raise UsageError, with name, value and allowed values, if a parameter does not fit."""
    check("encoding", config.encoding.parameters, Encoding)
    if config.extension.parameters.get("_target_") is not None:
        check("extension", config.extension.parameters, Change)
    check("data", config.named_data, Data)


def check(key: str, settings: Mapping[str, object], kind: type) -> None:
    """Check the class that `_target_` names, which must be a `kind`, with its parameters and all classes
    inside."""

    def is_right(found: Any) -> bool:
        return isinstance(found, type) and issubclass(found, kind) and not inspect.isabstract(found)

    wanted = f"a class of the kind {kind.__name__}"
    constructor = named_object(f"{key}._target_", settings.get("_target_"), wanted, is_right)
    hints = get_type_hints(constructor.__init__, include_extras=True)
    fields: dict[str, Any] = dict.fromkeys(("log_n", *OPTIONS), (bool, False))  # of any method
    for name, parameter in inspect.signature(constructor).parameters.items():
        if name not in SHAPE and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            is_required = parameter.default is parameter.empty and name not in GIVEN
            hint = Any if hints.get(name) in METHODS or is_class(settings.get(name)) else hints.get(name, Any)
            fields[name] = (hint, ... if is_required else None)
    about = {"_target_", "share", *ABOUT} - fields.keys()  # of any method, read elsewhere
    parameters = {name: value for name, value in settings.items() if name not in about}
    for name, value in parameters.items():
        check_inside(f"{key}.{name}", value, Encoding if hints.get(name) in METHODS else None)
    create_model(constructor.__name__, __base__=Section, **fields).of(parameters, f"{key}.")


def check_inside(key: str, value: Any, kind: type | None) -> None:
    """Check the classes that the value of a parameter names; if there is a `kind`, it must name some."""
    parts = value if isinstance(value, list) else [value]
    are_classes = [is_class(part) for part in parts]
    if kind is not None and not (parts and all(are_classes)):
        raise UsageError(
            f"{key}={as_setting(value)} should be a method with its parameters, as in conf/encoding."
        )
    for number, part in enumerate(parts):
        if are_classes[number]:
            check(key if part is value else f"{key}.{number}", part, kind or Data)


def is_class(value: Any) -> bool:
    """Return whether settings describe an object of a class."""
    return isinstance(value, Mapping) and "_target_" in value
