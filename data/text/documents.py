"""Documents of text, before they are token ids."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conf.errors import UsageError


@dataclass(frozen=True)
class Document:
    text: str
    source: str  # where it is from: a path relative to its corpus, or a split and a row
    held_out: bool | None = None  # None: a hash of `source` decides


@dataclass(frozen=True, kw_only=True)
class Documents(ABC):
    """Documents in a fixed order; the fields are the keys of `conf/data/*.yaml`."""

    name: str
    tokenizer: str = "bpe"
    end_token: str | None = None  # of a tokenizer.json that does not say which token ends a text
    held_out: float = 0.1
    limit: float | None = None
    shortest: int = 1
    repeat: float = 0.0  # spans of a training sequence that recur in it; a fraction is a probability

    def __post_init__(self) -> None:
        if not 0 <= self.repeat <= 8:
            raise UsageError(
                f"data.repeat={self.repeat} must be a number of spans from 0 to 8, such as 0.5 or 3."
            )
        if not 0 < self.held_out < 1:
            raise UsageError(f"data.held_out={self.held_out} must be between 0 and 1, such as 0.1.")
        if self.limit is not None and self.limit <= 0:
            raise UsageError(f"data.limit={self.limit} must be above 0 megabytes, or null for all the text.")

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """Yield all documents, the same at every call."""

    @abstractmethod
    def contents(self) -> dict[str, Any]:
        """Return a digest of every text that the settings name."""

    @abstractmethod
    def origin(self) -> str:
        """Return the origin of the documents, in words."""

    def is_included(self, text: str) -> bool:
        """Return whether a text that is not blank belongs to the corpus."""
        return len(text) >= self.shortest


def clean(text: str) -> str:
    """Return a text in valid UTF-8 with one kind of newline, without a byte order mark and without NUL, which
    separates documents. Corpora and prompts both pass through here."""
    text = text.encode(errors="replace").decode()
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
