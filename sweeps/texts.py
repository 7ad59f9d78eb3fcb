"""The words of the report that no sweep changes (`texts.yml`)."""

from dataclasses import dataclass
from pathlib import Path

import yaml

TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text())


@dataclass(frozen=True)
class Text:
    """A heading, and the note below it."""

    title: str
    note: str


PARTS = {kind: Text(**text) for kind, text in TEXTS["parts"].items()}
