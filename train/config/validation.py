"""Sections of typed settings; a value that does not fit is reported in one sentence."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pkgutil import resolve_name
from reprlib import repr as shortened
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conf.choices import content, files
from conf.errors import UsageError, did_you_mean

Natural = Annotated[int, Field(ge=1, lt=1 << 31)]
Quantity = Annotated[float, Field(ge=1e-9, le=1e6)]
STRICT = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)
DETAIL = re.compile(r" or instance of \w+| after validation, not .*")  # of Pydantic's messages
IN_YAML = {"valid tuple": "valid list", "valid dictionary": "valid mapping", "None": "null"}


class Section(BaseModel):
    """Settings that belong together, checked once and never changed."""

    model_config = STRICT | ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, settings: Mapping[str, object], prefix: str = "") -> Self:
        """Return the section. Raise UsageError, with name, value and allowed values, if a setting does not
        fit. The names in the sentence begin with `prefix`."""
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            raise UsageError(first_fault(error, cls, settings, prefix)) from None


def first_fault(error: ValidationError, kind: type[Section], settings: Any, prefix: str) -> str:
    """Return a sentence about the first setting that does not fit."""
    first = error.errors()[0]
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    if first["type"] == "missing":
        key = prefix + ".".join(map(str, first["loc"]))
        return f"{key} must be given: add {key}=..."
    path, value = setting_at(first["loc"], settings)
    key = prefix + ".".join(path)
    if first["type"] == "extra_forbidden":
        return no_setting(key, keys(kind, prefix))
    faults = [each for each in error.errors() if setting_at(each["loc"], settings)[0] == path]
    if len(faults) > 1:  # Pydantic leaves out entries that are wrong themselves
        faults = [each for each in faults if each["type"] != "too_short" or not each["input"]]
    demands = [DETAIL.sub("", each["msg"].partition(" should ")[2]) for each in faults]
    text = " or ".join(dict.fromkeys(demands))
    for word, yaml in IN_YAML.items():
        text = text.replace(word, yaml)
    return f"{key}={as_setting(value)} should {text}.".replace(" or be ", " or ")


def setting_at(place: Iterable[int | str], settings: Any) -> tuple[list[str], Any]:
    """Return the path of a setting and its value. Pydantic's place of a fault goes on with kinds of unions
    and indices of lists."""
    path: list[str] = []
    for part in place:
        if not isinstance(settings, Mapping) or part not in settings:
            break
        path, settings = [*path, str(part)], settings[part]
    return path, settings


def detail(error: ValidationError) -> str:
    """Return the part of a file that does not fit, " (seed: 'three')"; empty if it has no key."""
    first = error.errors()[0]
    key = ".".join(part for part in first["loc"] if isinstance(part, str))
    value = "missing" if first["type"] == "missing" else shortened(first["input"])
    return f" ({shortened(key)[1:-1]}: {value})" if key else ""


def keys(section: type[BaseModel], prefix: str = "") -> Iterable[str]:
    """Return the dotted names of all settings of a section."""
    for name, field in section.model_fields.items():
        yield prefix + name
        if hasattr(field.annotation, "model_fields"):
            yield from keys(cast(type[BaseModel], field.annotation), f"{prefix}{name}.")


def as_setting(value: Any) -> str:
    """Return a value as the command line takes it, shortened if it is long."""
    text = value if isinstance(value, str) else json.dumps(value).replace('"', "").replace(", ", ",")
    return text if len(text) < 300 else f"{text[:300]}..."


def named_object(key: str, path: object, wanted: str, is_right: Callable[[Any], bool]) -> Any:
    """Return what a setting names by its dotted path. Raise UsageError unless that is what is wanted."""
    try:
        found, reason = resolve_name(str(path)), ""
    except (ImportError, AttributeError, ValueError) as error:
        found, reason = None, f" ({error})"
    if found is None or not is_right(found):
        raise UsageError(
            f"{key}={as_setting(path)} should be the dotted path of {wanted}{reason}. Name the folder that "
            "it is in: methods=<folder>."
        )
    return found


def no_setting(key: str, known: Iterable[str]) -> str:
    """Return a sentence about a setting that does not exist, with the choices of its group that have it, or
    the name that was probably meant."""
    group, _, name = key.partition(".")
    contents = {choice: content(group, choice) for choice in files(group)}
    owners = [choice for choice, settings in contents.items() if name in (settings.get(group) or settings)]
    if owners and name:
        return f"There is no setting '{key}'. It is a setting of {group}={', '.join(owners[:3])}."
    return f"There is no setting '{key}'.{did_you_mean(key, known)}"
