"""The reference of settings, from the schema in `train/config` and from the comments in `conf/`."""

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from conf.choices import CONF, files
from models.sources import comment
from sweeps.drawing.page import markdown_page
from sweeps.numbers import text_table
from train.config.compose import compose_config
from train.config.schema import Config
from train.config.validation import Section

TEMPLATE = Path(__file__).parent / "templates/settings.md.j2"
GROUPS = (
    "model", "data", "encoding", "extension", "optimizer", "trainer", "evaluation", "callbacks", "logger",
    "experiment", "debug",
)  # fmt: skip
BOUNDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
HUGE = 1e6  # a bound from which on nobody needs to know it
FIELD = re.compile(r"^ {4}(\w+): .+?(?:  # (.+))?$", re.MULTILINE)
LINE = re.compile(r"^ *(\w+):.*?  # (.+)$", re.MULTILINE)


def settings_page() -> str:
    """Return the page in Markdown."""
    config = compose_config("outputs=outputs")
    nested = {
        name: getattr(config, name) for name in Config.model_fields if is_section(getattr(config, name))
    }
    return markdown_page(
        TEMPLATE,
        run=section_table(config, ""),
        sections={name: (type(part).__dict__["__doc__"], section_table(part, f"{name}."))
                  for name, part in nested.items()},
        options={group: [(name, comment(group, name)) for name in files(group)] for group in GROUPS},
    )  # fmt: skip


def is_section(value: object) -> bool:
    return isinstance(value, BaseModel)


def section_table(section: BaseModel, prefix: str) -> str:
    """Return the settings of a section: name, what it takes, default, meaning."""
    rows = [
        [f"`{prefix}{name}`", allowed, f"`{text(getattr(section, name))}`", meaning(type(section), name)]
        for name, allowed in kinds(type(section))
        if not is_section(getattr(section, name))
    ]
    return text_table(["setting", "takes", "default", "meaning"], rows)


def kinds(section: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield the name of each setting, and what it takes in words."""
    schema = section.model_json_schema()
    for name, part in schema["properties"].items():
        yield name, kind(part).replace("|", "\\|")


def kind(part: Mapping[str, Any]) -> str:
    """Return a part of a JSON schema in words."""
    if "anyOf" in part:
        return " or ".join(map(kind, part["anyOf"]))
    if "enum" in part or "const" in part:
        return ", ".join(f"`{value}`" for value in part.get("enum", [part.get("const")]))
    names = {"integer": "whole number", "number": "number", "boolean": "`true`, `false`", "string": "text",
             "array": "list", "null": "`null`", "object": "settings by name"}  # fmt: skip
    bounds = [
        f"{word} {part[key]:g}"
        for key, word in BOUNDS.items()
        if abs(part.get(key, HUGE)) < HUGE
    ]  # fmt: skip
    return " ".join([names.get(part.get("type", "object"), "settings by name"), *bounds])


def text(value: object) -> str:
    """Return a default as a user would type it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(text, value))}]"
    return "{…}" if isinstance(value, dict) and value else str(value)


def meaning(section: type[BaseModel], name: str) -> str:
    """Return the comment on a setting in `conf/`, or in the schema."""
    said = comments().get(name) or of_schema(section).get(name) or ""
    return said.replace("|", "\\|")


@cache
def comments() -> dict[str, str]:
    """Return the comments beside settings, by their last name; those of conf/config.yaml first."""
    found: dict[str, str] = {}
    chosen = ("config.yaml", "optimizer/adamw.yaml", "trainer/auto.yaml", "model/*.yaml")
    for file in (file for pattern in chosen for file in sorted(CONF.glob(pattern))):
        for name, said in LINE.findall(file.read_text("utf-8")):
            found.setdefault(name, said)
    return found


@cache
def of_schema(section: type[BaseModel]) -> dict[str, str]:
    """Return the comments beside the fields of a section."""
    parents = [kind for kind in reversed(section.__mro__) if issubclass(kind, Section)]
    return {name: said for kind in parents for name, said in FIELD.findall(inspect.getsource(kind))}
