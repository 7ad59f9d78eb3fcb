"""Documents -> a tokenizer and two files of token ids. Runs once; `data.text` reads what it writes."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from conf.errors import UsageError
from data.digest import of_file, of_json
from data.text.documents import Documents
from data.text.prepared import Prepared
from data.text.split import MEGABYTE, Entries, limited, split, texts
from data.text.tokenizer import SAMPLE, Tokenizer, make

PORTION = 4e6  # characters of text that are encoded at a time
log = logging.getLogger(__name__)


def build(corpus: Documents, vocab: int, folder: Path) -> Prepared:
    """Fill a folder with token ids."""
    log.info("Preparing data=%s from %s, once ...", corpus.name, corpus.origin())
    training, held_out = split(corpus)
    parts = {"training": training, "held_out": held_out}
    tokenizer = make(corpus.tokenizer, vocab, chosen(corpus, limited(training, SAMPLE)))
    tokenizer.save(folder)
    dtype = "uint16" if tokenizer.vocab <= 2**16 else "uint32"
    lengths = {}
    for name, part in parts.items():
        lengths[name] = encode(chosen(corpus, part), tokenizer, folder / f"{name}.bin", dtype)
    np.save(folder / "held_out_lengths.npy", np.array(lengths["held_out"], np.int64))
    digests = {file.name: of_file(file) for file in sorted(folder.iterdir())}
    rows = [f"{name}\t{key}\t{part[key].source}\n" for name, part in parts.items() for key in sorted(part)]
    (folder / "documents.tsv").write_text("".join(rows), encoding="utf-8")
    about = [f"{name.replace('_', ' ')}: {summary(part, sum(lengths[name]))}" for name, part in parts.items()]
    return Prepared(
        name=corpus.name,
        fingerprint=of_json(digests),
        description="; ".join([f"{corpus.name}: {corpus.origin()}", tokenizer.description, *about]),
        vocab=tokenizer.vocab,
        dtype=dtype,
        bytes_per_token=size(held_out) / sum(lengths["held_out"]),
    )


def chosen(corpus: Documents, part: Entries) -> Iterator[str]:
    """The texts of some documents, each once, read again."""
    waiting = dict(part)
    for key, document in texts(corpus):
        if waiting.pop(key, None):
            yield document.text
    if waiting:
        raise UsageError(f"data={corpus.name} changed while it was read ({corpus.origin()}): run again.")


def encode(documents: Iterable[str], tokenizer: Tokenizer, file: Path, dtype: str) -> list[int]:
    """Write the ids of documents, a separator after each; returns how many tokens each has."""
    lengths = []
    with file.open("wb") as out:
        for portion in portions(documents):
            for ids in tokenizer.encode(portion):
                out.write(np.append(ids, tokenizer.separator).astype(dtype).tobytes())
                lengths.append(len(ids))
    return lengths


def portions(documents: Iterable[str]) -> Iterator[list[str]]:
    """Lists of texts that together are about PORTION long."""
    waiting, length = [], 0
    for text in documents:
        waiting.append(text)
        length += len(text)
        if length >= PORTION:
            yield waiting
            waiting, length = [], 0
    if waiting:
        yield waiting


def size(part: Entries) -> int:
    return sum(entry.size for entry in part.values())


def summary(part: Entries, tokens: int) -> str:
    return f"{len(part):,} documents, {size(part) / MEGABYTE:.1f} MB, {tokens:,} tokens"
