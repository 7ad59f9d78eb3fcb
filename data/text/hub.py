"""Corpora of the Hugging Face Hub, through `datasets`."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from data.digest import of_content, of_json
from data.text.corpus import Corpus
from data.text.documents import Document
from data.text.files import local_files

HEADING = re.compile(r" = [^=]+ = \n?")  # WikiText: the first line of an article


@dataclass(frozen=True, kw_only=True)
class Hub(Corpus):
    """A dataset with a column of text, of the Hub or of a folder. Under a `limit` no more than that is
    downloaded, once.

    The corpus's own `test` split is held out if it is named, else documents by their hash.
    """

    path: str
    subset: str | None = None
    revision: str | None = None  # a commit; null: the newest
    split: str = "train"
    test: str | None = None
    text_key: str = "text"
    articles: bool = False  # rows are lines: join them into articles

    def documents(self) -> Iterator[Document]:
        for name, held_out, rows in self.parts:
            for number, text in enumerate(articles_of(rows) if self.articles else rows):
                yield Document(text or "", f"{name}:{number}", held_out)

    def contents(self) -> dict[str, object]:
        """Return a digest of a folder on this machine; a dataset of the Hub is named by its revision."""
        if not Path(self.path).exists():
            return {}
        return {"path": of_json([(source, of_content(file)) for source, file in local_files(self.path)])}

    def origin(self) -> str:
        return self.path if self.subset is None else f"{self.path} ({self.subset})"

    @cached_property
    def parts(self) -> list[tuple[str, bool | None, Iterable[str]]]:
        """Return (name, is held out, texts) of all parts, held-out first: the second copy is dropped."""
        if self.test is None:
            return [("train", None, self.read(self.split, self.limit and self.limit / (1 - self.held_out)))]
        test = self.read(self.test, self.limit and self.limit * self.held_out)
        return [("test", True, test), ("train", False, self.read(self.split, self.limit))]

    def read(self, split: str, limit: float | None) -> Iterable[str]:
        """Return the texts of a split, or the first `limit` megabytes of them. They are on the disk, in the
        cache of `datasets`, which a later call reads without the network."""
        from datasets import Dataset, load_dataset

        place = {"path": self.path, "name": self.subset, "split": split, "revision": self.revision}
        digests = self.contents()
        try:
            if limit is None:
                dataset = load_dataset(**place, num_proc=None if digests else os.cpu_count())
                return dataset[self.text_key]
            first = {"place": place, "key": self.text_key, "limit": limit, "digests": digests}
            return Dataset.from_generator(first_rows, gen_kwargs=first)["text"]
        except Exception as error:  # of `datasets` and of all that it calls
            reason = (str(error.__cause__ or error) or type(error).__name__).splitlines()[0]
            raise UsageError(
                f"data={self.name} could not be read from {self.path} ({reason}): use data=python, which "
                "needs no network, or your own text with data=files data.path=..."
            ) from error


def first_rows(place: Any, key: str, limit: float, digests: dict[str, object]) -> Iterator[dict[str, str]]:
    """Yield texts up to `limit` megabytes. `datasets` reads a folder with other `digests` again."""
    from datasets import load_dataset

    size = 0.0
    for row in load_dataset(**place, streaming=True):
        yield {"text": row[key] or ""}
        size += len(row[key] or "") / 1e6
        if size >= limit:
            break


def articles_of(rows: Iterable[str]) -> Iterator[str]:
    """Yield WikiText's lines as articles."""
    article: list[str] = []
    for row in rows:
        if HEADING.fullmatch(row) and article:
            yield "".join(article)
            article = []
        article.append(row)
    yield "".join(article)
