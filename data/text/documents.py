"""Documents of text, before they are token ids."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    text: str
    source: str  # where it is from: a path relative to its corpus, or a split and a row
    held_out: bool | None = None  # None: a hash of `source` decides


def clean(text: str) -> str:
    """Return a text in valid UTF-8 with one kind of newline, without a byte order mark and without NUL, which
    separates documents. Corpora and prompts both pass through here."""
    text = text.encode(errors="replace").decode()
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
