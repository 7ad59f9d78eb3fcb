"""What all texts share: documents, and the settings that turn them into token ids."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from data.cache import cached
from data.text import Text

VERSION = 1  # a cache of another version of this code is not used


@dataclass(frozen=True)
class Document:
    text: str
    source: str  # where it is from: a path relative to its corpus, or a split and a row
    held_out: bool | None = None  # None: a hash of `source` decides


@dataclass(frozen=True, kw_only=True)
class Corpus(ABC):
    """Documents in an order that does not change; the fields are the keys of `conf/data/*.yaml`."""

    name: str
    tokenizer: str = "bpe"
    held_out: float = 0.1
    limit: float | None = None
    shortest: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.held_out < 1:
            raise ValueError(f"data.held_out={self.held_out} must be between 0 and 1, such as 0.1.")
        if self.limit is not None and self.limit <= 0:
            raise ValueError(f"data.limit={self.limit} must be above 0 megabytes, or null for all the text.")

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """All of them, the same at every call."""

    @abstractmethod
    def stamp(self) -> Any:
        """What changes when the documents do, found without reading them; JSON."""

    @abstractmethod
    def origin(self) -> str:
        """Where the documents are from, in words."""

    def wanted(self, text: str) -> bool:
        """Whether a text that is not blank belongs in the corpus."""
        return len(text) >= self.shortest

    def open(self, vocab: int, cache: Path) -> Text:
        """The token ids, from the cache or built into it."""
        folder = cache / f"{self.name}-{self.key(vocab)}"
        return Text(folder, cached(folder, partial(self.build, vocab)))

    def build(self, vocab: int, folder: Path) -> dict[str, Any]:
        from data.build import build

        return build(self, vocab, folder)

    def key(self, vocab: int) -> str:
        """Twelve hex digits that change with anything that the cached ids depend on."""
        tokenizer = self.tokenizer if self.tokenizer in ("bpe", "bytes") else digest(self.tokenizer)
        versions = [VERSION, version("tokenizers")]
        parts = [versions, type(self).__name__, asdict(self), vocab, tokenizer, self.stamp()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def digest(tokenizer: str) -> str:
    """The sha256 of a tokenizer's file."""
    file = Path(tokenizer).expanduser()
    if not file.is_file():
        raise ValueError(
            f"data.tokenizer={tokenizer} is neither bpe nor bytes nor an existing tokenizer.json."
        )
    return hashlib.sha256(file.read_bytes()).hexdigest()
