"""The reference of settings, from the schema in `train/config` and from the comments in `conf/`."""

import inspect
import re
from functools import cache
from pathlib import Path

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue

from conf.choices import CONF, files
from models.sources import comment
from sweeps.drawing.page import markdown_page
from sweeps.numbers import text_table
from train.config.compose import compose_config
from train.config.validation import Section

TEMPLATE = Path(__file__).parent / "templates/settings.md.j2"
GROUPS = (
    "model", "data", "encoding", "extension", "optimizer", "trainer", "evaluation", "callbacks", "logger",
    "experiment", "debug",
)  # fmt: skip
COMMENTED = ("config.yaml", "optimizer/adamw.yaml", "trainer/auto.yaml", "model/*.yaml")  # files of conf/
TYPES = {
    "integer": "whole number", "number": "number", "boolean": "`true`, `false`", "string": "text",
    "array": "list", "null": "`null`",
}  # fmt: skip
BOUNDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
HUGE = 1e6  # a bound from which on nobody needs to know it
FIELD = re.compile(r"^ {4}(\w+): .+?(?:  # (.+))?$", re.MULTILINE)
LINE = re.compile(r"^ *(\w+):.*?  # (.+)$", re.MULTILINE)


def settings_page() -> str:
    """Return the page in Markdown."""
    config = compose_config("outputs=outputs")
    sections = {name: part for name, part in config if isinstance(part, BaseModel)}
    return markdown_page(
        TEMPLATE,
        run=section_table(config, ""),
        sections={name: (type(part).__dict__["__doc__"], section_table(part, f"{name}."))
                  for name, part in sections.items()},
        options={group: [(name, comment(group, name)) for name in files(group)] for group in GROUPS},
    )  # fmt: skip


def section_table(section: BaseModel, prefix: str) -> str:
    """Return the settings of a section: name, what it takes, default, meaning."""
    schema, meanings = type(section).model_json_schema()["properties"], meanings_of(type(section))
    rows = []
    for name, kind in schema.items():
        value = getattr(section, name)
        if not isinstance(value, BaseModel):
            cells = f"`{prefix}{name}`", allowed(kind), f"`{default_text(value)}`", meanings.get(name, "")
            rows.append([cell.replace("|", "\\|") for cell in cells])
    return text_table(["setting", "takes", "default", "meaning"], rows)


def allowed(schema: JsonSchemaValue) -> str:
    """Return in words what a setting takes, from its JSON schema."""
    if "anyOf" in schema:
        return " or ".join(map(allowed, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    bounds = [f"{word} {schema[key]:g}" for key, word in BOUNDS.items() if abs(schema.get(key, HUGE)) < HUGE]
    return " ".join([TYPES.get(schema.get("type", "object"), "settings by name"), *bounds])


def default_text(value: object) -> str:
    """Return a default as a user would type it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(default_text, value))}]"
    return "{…}" if isinstance(value, dict) and value else str(value)


def meanings_of(section: type[BaseModel]) -> dict[str, str]:
    """Return the comments on the fields of a section: beside them in the schema, or better in `conf/`."""
    parents = [kind for kind in reversed(section.__mro__) if issubclass(kind, Section)]
    found = {name: text for kind in parents for name, text in FIELD.findall(inspect.getsource(kind))}
    return found | comments()


@cache
def comments() -> dict[str, str]:
    """Return the comments beside settings, by their last name; those of conf/config.yaml first."""
    every = [file for pattern in COMMENTED for file in sorted(CONF.glob(pattern))]
    return {name: text for file in reversed(every) for name, text in LINE.findall(file.read_text("utf-8"))}
