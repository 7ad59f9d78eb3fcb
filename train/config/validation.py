"""Sections of typed settings; a value that does not fit is reported in one sentence."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from reprlib import repr as shortened
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from conf.choices import content, files
from conf.errors import UsageError

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


def check_value(key: str, value: Any, annotation: Any) -> None:
    """Raise UsageError if a value does not fit its annotation."""
    fields: dict[str, Any] = {key: (annotation, ...)}
    create_model(key, __base__=Section, **fields).of({key: value})


def first_fault(error: ValidationError, kind: type[Section], settings: Any, prefix: str) -> str:
    """Return a sentence about the first setting that does not fit."""
    first = error.errors()[0]
    path = path_of(first, kind)
    key = prefix + ".".join(path)
    match first["type"]:
        case "value_error":
            return str(first["ctx"]["error"])
        case "missing":
            return f"{key} must be given: add {key}=..."
        case "extra_forbidden":
            return no_setting(key, keys(kind, prefix))
    for part in path:
        settings = settings[part]
    faults = [each for each in error.errors() if path_of(each, kind) == path]
    if len(faults) > 1:  # Pydantic leaves out entries that are wrong themselves
        faults = [each for each in faults if each["type"] != "too_short" or not each["input"]]
    demands = [DETAIL.sub("", each["msg"].partition(" should ")[2]) for each in faults]
    text = " or ".join(dict.fromkeys(demands))
    for word, yaml in IN_YAML.items():
        text = text.replace(word, yaml)
    return f"{key}={as_setting(settings)} should {text}.".replace(" or be ", " or ")


def detail(error: ValidationError) -> str:
    """Return the part of a file that does not fit, " (seed: 'three')"; empty if it has no key."""
    first = error.errors()[0]
    key = ".".join(part for part in first["loc"] if isinstance(part, str))
    value = "missing" if first["type"] == "missing" else shortened(first["input"])
    return f" ({shortened(key)[1:-1]}: {value})" if key else ""


def path_of(error: ErrorDetails, section: type[BaseModel]) -> list[str]:
    """Return the path of a setting, without the kinds of unions and the indices of lists that Pydantic
    appends."""
    path: list[str] = []
    kind: Any = section
    for part in map(str, error["loc"]):
        if not hasattr(kind, "model_fields"):
            break
        path.append(part)
        kind = kind.model_fields[part].annotation if part in kind.model_fields else None
    return path


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


def no_setting(key: str, known: Iterable[str]) -> str:
    """Return a sentence about a setting that does not exist, with the choices of its group that have it, or
    the name that was probably meant."""
    group, _, name = key.partition(".")
    contents = {choice: content(group, choice) for choice in files(group)}
    owners = [choice for choice, settings in contents.items() if name in (settings.get(group) or settings)]
    if owners and name:
        return f"There is no setting '{key}'. It is a setting of {group}={', '.join(owners[:3])}."
    return f"There is no setting '{key}'.{did_you_mean(key, known)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the name that was probably meant."""
    known = list(known)
    short = [candidate for candidate in known if initials(candidate) == name]
    close = short or difflib.get_close_matches(name, known, 1)
    return f" Did you mean '{close[0]}'?" if close else ""


def initials(key: str) -> str:
    """Return a key with its last part abbreviated: optimizer.learning_rate becomes optimizer.lr."""
    group, dot, name = key.rpartition(".")
    return group + dot + "".join(word[:1] for word in name.split("_"))
