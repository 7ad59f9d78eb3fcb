"""Sections of typed settings; a value that does not fit is reported in one sentence."""

import difflib
import json
from collections.abc import Iterable, Mapping
from reprlib import repr as shortened
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from conf.errors import UsageError

Natural = Annotated[int, Field(ge=1, lt=1 << 31)]
Quantity = Annotated[float, Field(ge=1e-9, le=1e6)]
KINDS = {  # what each type of error of Pydantic's wants
    "int_type": "a valid integer", "int_parsing": "a valid integer", "int_from_float": "a valid integer",
    "float_type": "a valid number", "float_parsing": "a valid number", "finite_number": "a finite number",
    "bool_type": "a valid boolean", "bool_parsing": "a valid boolean", "string_type": "a valid string",
    "list_type": "a valid list", "tuple_type": "a valid list", "dict_type": "a valid mapping",
    "model_type": "a valid mapping", "literal_error": "{expected}", "none_required": "null",
    "greater_than": "greater than {gt:g}", "greater_than_equal": "greater than or equal to {ge:g}",
    "less_than": "less than {lt}", "less_than_equal": "less than or equal to {le:g}",
    "string_pattern_mismatch": "like the pattern {pattern}", "multiple_of": "a multiple of {multiple_of}",
    "is_instance_of": "of the kind {class}",
}  # fmt: skip
STRICT = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)


class Section(BaseModel):
    """Settings that belong together, checked once and never changed."""

    model_config = STRICT | ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> Self:
        """Return the section. Raise UsageError, with name, value and allowed values, if a setting does not
        fit."""
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            raise UsageError(first_fault(error, cls, settings)) from None


def check_value(key: str, value: Any, annotation: Any) -> None:
    """Raise UsageError if a value does not fit its annotation."""
    try:
        TypeAdapter(annotation, config=STRICT).validate_python(value)
    except ValidationError as error:
        raise UsageError(f"{key}={as_setting(value)} {allowed(error.errors())}.") from None


def first_fault(error: ValidationError, section: type[Section], settings: Mapping[str, object]) -> str:
    """Return a sentence about the first setting that does not fit."""
    first = error.errors()[0]
    path = path_of(first, section)
    key = ".".join(path)
    match first["type"]:
        case "value_error":
            return str(first["ctx"]["error"])
        case "missing":
            return f"{key} must be given: add {key}=..."
        case "extra_forbidden":
            return f"There is no setting '{key}'.{did_you_mean(key, keys(section))}"
    value: Any = settings
    for part in path:
        value = value[part]
    return f"{key}={as_setting(value)} {allowed(e for e in error.errors() if path_of(e, section) == path)}."


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


def allowed(errors: Iterable[ErrorDetails]) -> str:
    """Return all that a setting may be: should be a valid integer or 'auto'."""
    kinds = dict.fromkeys(kind for error in errors if (kind := kind_of(error)))
    return f"should {' or '.join(kinds)}".replace(" or be ", " or ")


def kind_of(error: ErrorDetails) -> str | None:
    """Return what an error of Pydantic demands, by its type and context; None if another error says more."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "too_short":
        count = context["min_length"]
        is_cut = len(error["input"]) >= count  # Pydantic leaves out entries that are wrong themselves
        return None if is_cut else "have at least one entry" if count == 1 else f"have {count} entries"
    if kind == "too_long":
        return f"have {context['max_length']} entries"
    if kind in KINDS:
        return f"be {KINDS[kind].format(**context)}"
    return f"be what {kind} asks for"


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
