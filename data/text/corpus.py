"""The base of all text: documents, which become token ids in a cache."""

import logging
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from conf.errors import UsageError
from data import Data
from data.cache import Record, build_once
from data.digest import ROOT, code_digest, foreign_code, of_content, of_json

if TYPE_CHECKING:
    from data.text.tokens import Text  # imports torch, which the name of a run does without

log = logging.getLogger(__name__)
LARGEST = 1 << 30  # vocabulary


@dataclass(frozen=True)
class Document:
    text: str
    source: str  # where it is from: a path relative to its corpus, or a split and a row
    held_out: bool | None = None  # None: a hash of `source` decides


@dataclass(frozen=True, kw_only=True)
class Corpus(Data):
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

    def open(self, vocab: int, cache: Path) -> "Text":
        """Return the token ids from the cache, building them first if they are missing."""
        from data.text.tokens import Prepared, Text

        key = self.key(vocab)

        def fill(folder: Path) -> Record:
            from data.text.prepare import prepare_corpus  # the tokenizers, which a warm cache does without

            prepared = prepare_corpus(self, vocab, folder)
            if self.key(vocab) != key:
                raise UsageError(f"data={self.name} changed while it was read ({self.origin()}): run again.")
            return asdict(prepared)

        folder = cache / f"{self.name}-{key}"
        prepared = Prepared(**build_once(folder, fill))
        if prepared.warning:
            log.warning("%s", prepared.warning)
        return Text(folder, prepared, self.repeat)

    def key(self, vocab: int) -> str:
        """Return twelve hex digits that change with everything on which the token ids depend."""
        settings = {k: v for k, v in self.identity().items() if k != "repeat"}
        code = code_digest(ROOT / "data/text", *foreign_code(settings))
        return of_json([version("tokenizers"), code, settings, vocab])[:12]

    def vocabulary(self) -> int | None:
        from data.text.tokenizer import tokenizer_of

        return (
            None if self.tokenizer == "bpe" else tokenizer_of(self.tokenizer, LARGEST, self.end_token).vocab
        )

    def identity(self) -> dict[str, object]:
        settings = super().identity() | self.contents()
        if self.tokenizer not in ("bpe", "bytes"):
            file = Path(self.tokenizer).expanduser()
            if not file.is_file():
                raise UsageError(
                    f"data.tokenizer={self.tokenizer} is neither bpe nor bytes nor an existing "
                    "tokenizer.json."
                )
            settings["tokenizer"] = of_content(file)
        return settings


def clean(text: str) -> str:
    """Return a text in valid UTF-8 with one kind of newline, without a byte order mark and without NUL, which
    separates documents. Corpora and prompts both pass through here."""
    text = text.encode(errors="replace").decode()
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
