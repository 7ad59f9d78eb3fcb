"""The split of documents into training and held-out ones."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from conf.errors import UsageError
from data.text.documents import Document, Documents, clean

MEGABYTE = 1e6
SLACK = 0.02  # share of a limit by which the last document may pass it


@dataclass(frozen=True)
class Entry:
    """A document without its text."""

    source: str
    size: int  # bytes, from the beginning of the text
    held_out: bool | None

    @property
    def rank(self) -> float:
        """Return a number in [0, 1) that depends on the document's place in the corpus alone."""
        return int(hashlib.sha256(self.source.encode()).hexdigest()[:13], 16) / 16**13


Entries = dict[str, Entry]  # by the sha256 of the text, so that each different text is there once


def split_documents(corpus: Documents) -> dict[str, Entries]:
    """Return the documents `training` and `held_out`; no text is in both."""
    entries: Entries = {}
    for key, document in texts_by_digest(corpus):
        if corpus.is_included(document.text):
            size = len(document.text.encode())
            entries.setdefault(key, Entry(document.source, size, document.held_out))
    if not entries:
        longer = f" of at least {corpus.shortest:,} characters" if corpus.shortest > 1 else ""
        raise UsageError(f"There is no text{longer} in {corpus.origin()}: choose another data or data.path.")
    if all(entry.held_out is None for entry in entries.values()):
        bound = max(corpus.held_out, min(entry.rank for entry in entries.values()))  # at least one
        entries = {key: replace(entry, held_out=entry.rank <= bound) for key, entry in entries.items()}
    held_out = {key: entry for key, entry in entries.items() if entry.held_out}
    training = {key: entry for key, entry in entries.items() if not entry.held_out}
    for purpose, part in (("to train on", training), ("to hold out", held_out)):
        if not part:
            why = f"distinct documents are too few ({len(entries):,})"
            raise UsageError(f"data={corpus.name} has no text left {purpose}: {why}, give more.")
    return {"training": select_by_rank(training, corpus.limit), "held_out": held_out}


def select_by_rank(entries: Entries, limit: float | None) -> Entries:
    """Return documents by rank, up to `limit` megabytes if given. The last one is cut if far too long."""
    if limit is None:
        return entries
    kept, room = {}, round(limit * MEGABYTE)  # bytes
    for key, entry in sorted(entries.items(), key=lambda item: item[1].rank):
        if room <= 0:
            break
        is_cut = entry.size - room > SLACK * limit * MEGABYTE
        kept[key] = replace(entry, size=room) if is_cut else entry
        room -= entry.size
    return kept


def texts_by_digest(corpus: Documents) -> Iterator[tuple[str, Document]]:
    """Yield every document that is not blank, with the sha256 of its text; a lone document is cut in two."""
    documents = (replace(document, text=clean(document.text)) for document in corpus.documents())
    documents = (document for document in documents if document.text and not document.text.isspace())
    first = list(islice(documents, 2))
    for part in (halves(first[0], corpus.held_out) if len(first) == 1 else first, documents):
        for document in part:
            yield hashlib.sha256(document.text.encode()).hexdigest(), document


def halves(document: Document, held_out: float) -> Iterator[Document]:
    """Yield the training part and the held-out rest of a document, cut at the end of a line if possible."""
    text, source = document.text, document.source
    end = round(len(text) * (1 - held_out))
    cut = text.rfind("\n", int(0.9 * end), end) + 1 or end
    yield Document(text[:cut], f"{source} (beginning)", False)
    yield Document(text[cut:], f"{source} (end)", True)
