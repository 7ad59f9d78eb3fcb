"""Corpora of the Hugging Face Hub, through `datasets`."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from conf.errors import UsageError
from data.digest import of_content, of_json
from data.text.corpus import Corpus
from data.text.documents import Document
from data.text.paths import local_files

PATIENCE = 2.0  # seconds until the Hub counts as out of reach
HEADING = re.compile(r" = [^=]+ = \n?")  # WikiText: the first line of an article


@dataclass(frozen=True, kw_only=True)
class Hub(Corpus):
    """A dataset with a column of text. Under a `limit` no more than that is downloaded.

    The corpus's own `test` split is held out if it is named, else documents by their hash.
    """

    path: str
    subset: str | None = None
    revision: str | None = None
    split: str = "train"
    test: str | None = None
    test_path: str | None = None
    text_key: str = "text"
    articles: bool = False  # rows are lines: join them into articles

    def documents(self) -> Iterator[Document]:
        for name, held_out, rows in self.parts:
            for number, text in enumerate(articles_of(rows) if self.articles else rows):
                yield Document(text or "", f"{name}:{number}", held_out)

    def contents(self) -> dict[str, Any]:
        """Return digests of folders on this machine; a dataset of the Hub is downloaded once and kept."""
        paths = {"path": self.path, "test_path": self.test_path}
        return {
            key: of_json([(source, of_content(file)) for source, file in local_files(path)])
            for key, path in paths.items()
            if path and Path(path).exists()
        }

    def origin(self) -> str:
        return self.path if self.subset is None else f"{self.path} ({self.subset})"

    @cached_property
    def parts(self) -> list[tuple[str, bool | None, Iterable[str]]]:
        """Return (name, is held out, texts) of all parts, held-out ones first: of two copies the second is
        dropped."""
        if self.test is None:
            room = self.limit and self.limit / (1 - self.held_out)
            return [("train", None, self.read(self.path, self.split, room))]
        test = self.read(self.test_path or self.path, self.test, self.limit and self.limit * self.held_out)
        return [("test", True, test), ("train", False, self.read(self.path, self.split, self.limit))]

    def read(self, path: str, split: str, limit: float | None) -> Iterable[str]:
        """Return the texts of a split, or the first `limit` megabytes of them."""
        from huggingface_hub import constants

        offline = constants.HF_HUB_OFFLINE or Path(path).exists()
        if not offline and not is_reachable(constants.ENDPOINT):
            raise UsageError(self.failure_text(f"{constants.ENDPOINT} does not answer"))
        from datasets import load_dataset

        is_partial = limit is not None and not offline
        try:
            dataset = load_dataset(
                path, self.subset, split=split, revision=self.revision, streaming=is_partial
            )
            texts = (row[self.text_key] for row in dataset) if is_partial else dataset[self.text_key]
            return texts if limit is None else first_texts(texts, limit)
        except Exception as error:  # of `datasets` and of all that it calls
            raise UsageError(self.failure_text(str(error).partition("\n")[0])) from error

    def failure_text(self, reason: str) -> str:
        return (
            f"data={self.name} could not be read from {self.path} ({reason}): use data=python, which needs "
            "no network, or your own text with data=files data.path=..."
        )


def first_texts(texts: Iterable[str], limit: float) -> list[str]:
    """Return texts from the first on, up to `limit` megabytes."""
    kept, size = [], 0.0
    for text in texts:
        kept.append(text)
        size += len(text or "") / 1e6
        if size >= limit:
            break
    return kept


def articles_of(rows: Iterable[str]) -> Iterator[str]:
    """Yield WikiText's lines as articles."""
    article: list[str] = []
    for row in rows:
        if HEADING.fullmatch(row) and article:
            yield "".join(article)
            article = []
        article.append(row)
    yield "".join(article)


def is_reachable(address: str) -> bool:
    """Return whether a server answers. A thread waits for it, because looking up its name may hang."""
    reached = []

    def request() -> None:
        try:
            urlopen(Request(address, method="HEAD"), timeout=PATIENCE)
            reached.append(True)
        except HTTPError:
            reached.append(True)  # still an answer
        except OSError:
            pass

    thread = Thread(target=request, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return bool(reached)
