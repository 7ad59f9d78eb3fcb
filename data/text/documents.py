"""Documents of text, before they are token ids."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from data import Data


@dataclass(frozen=True)
class Document:
    text: str
    source: str  # where it is from: a path relative to its corpus, or a split and a row
    held_out: bool | None = None  # None: a hash of `source` decides


@dataclass(frozen=True, kw_only=True)
class Documents(Data):
    """Documents in a fixed order; the fields are the keys of `conf/data/*.yaml`."""

    name: str
    tokenizer: str = "bpe"
    end_token: str | None = None  # of a tokenizer.json that does not say which token ends a text
    held_out: Annotated[float, Field(gt=0, lt=1)] = 0.1
    limit: Annotated[float, Field(gt=0)] | None = None  # megabytes
    shortest: int = 1
    repeat: Annotated[float, Field(ge=0, le=8)] = 0.0  # spans that recur in a training sequence, on average

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """Yield all documents, the same at every call."""

    @abstractmethod
    def contents(self) -> dict[str, object]:
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
