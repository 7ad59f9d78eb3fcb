"""The fixed texts of reports (`texts.yml`) and of pages of the documentation."""

from dataclasses import dataclass
from pathlib import Path

import yaml
from jinja2 import Environment

TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text())


@dataclass(frozen=True)
class Text:
    """A heading, and the note below it."""

    title: str
    note: str


PARTS = {kind: Text(**text) for kind, text in TEXTS["parts"].items()}


def markdown_page(template: Path, **content: object) -> str:
    """Return a page in Markdown from its template."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string(template.read_text()).render(content)
