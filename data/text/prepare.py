"""Preparation: documents become a tokenizer and two files of token ids, for `data.text.tokens` to read."""

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from conf.errors import UsageError
from data.digest import of_content, of_json
from data.text.documents import Documents
from data.text.split import MEGABYTE, Entries, select_by_rank, split_documents, texts_by_digest
from data.text.tokenizer import Tokenizer, tokenizer_of
from data.text.tokens import Prepared

SAMPLE = 32.0  # megabytes of training text that a BPE is trained on
PORTION = 4e6  # characters of text that are encoded at a time
LOST = 0.01  # share of a text that may have no tokens
log = logging.getLogger(__name__)


def prepare_corpus(corpus: Documents, vocab: int, folder: Path) -> Prepared:
    """Fill a folder with token ids, and with the number of bytes that each held-out token covers."""
    log.info("Preparing data=%s from %s, once ...", corpus.name, corpus.origin())
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # all cores, also after a fork
    parts = split_documents(corpus)
    sample = texts_of(corpus, select_by_rank(parts["training"], SAMPLE))
    tokenizer = tokenizer_of(corpus.tokenizer, vocab, corpus.end_token, sample)
    if tokenizer.model is not None:
        (folder / "tokenizer.json").write_text(tokenizer.model.to_str(), encoding="utf-8")
    dtype = "uint16" if tokenizer.vocab <= 2**16 else "uint32"
    counts = {
        name: encode(texts_of(corpus, part), tokenizer, folder / f"{name}.bin", dtype)
        for name, part in parts.items()
    }
    np.save(folder / "held_out_lengths.npy", counts["held_out"][:, 0])
    (folder / "training.bytes").unlink()
    digests = {file.name: of_content(file) for file in sorted(folder.iterdir())}
    rows = [f"{name}\t{key}\t{part[key].source}\n" for name, part in parts.items() for key in sorted(part)]
    (folder / "documents.tsv").write_text("".join(rows), encoding="utf-8")
    about = [
        f"{name.replace('_', ' ')}: {len(part):,} documents, "
        f"{sum(entry.size for entry in part.values()) / MEGABYTE:.1f} MB, {counts[name][:, 0].sum():,} tokens"
        for name, part in parts.items()
    ]
    warning = lost_text(corpus, np.concatenate(list(counts.values())))
    description = [f"{corpus.name}: {corpus.origin()}", tokenizer.description, *about, warning]
    return Prepared(
        corpus.name, of_json(digests), "; ".join(filter(None, description)), tokenizer.vocab, dtype,
        tokenizer.mask_token, warning,
    )  # fmt: skip


def lost_text(corpus: Documents, counts: np.ndarray) -> str:
    """Return a warning about text that no token stands for. Raise UsageError if more than a percent of the
    characters are lost that are not white space."""
    tokens, characters, lost, spaces = counts.sum(0).tolist()
    if not lost:
        return ""
    setting = f"data.tokenizer={corpus.tokenizer}"
    share = f"{lost / characters:.2%} of the characters of data={corpus.name}"
    if lost - spaces > LOST * characters or not tokens:
        raise UsageError(f"{setting} has no tokens for {share}: choose another, or bpe.")
    return (
        f"Warning: {setting} has no tokens for {share}, of which {spaces / lost:.0%} are white space. "
        "bits_per_byte counts them, although the model does not predict them."
    )


def texts_of(corpus: Documents, part: Entries) -> Iterator[str]:
    """Read the texts of some documents again, each once."""
    waiting = dict(part)
    for key, document in texts_by_digest(corpus):
        if entry := waiting.pop(key, None):
            yield document.text.encode()[: entry.size].decode(errors="ignore")
    if waiting:
        raise UsageError(f"data={corpus.name} changed while it was read ({corpus.origin()}): run again.")


def encode(documents: Iterable[str], tokenizer: Tokenizer, file: Path, dtype: str) -> np.ndarray:
    """Write the ids of documents, with a separator after each, and the number of bytes that each token
    covers. Return the tokens, characters, lost characters and lost spaces of each document, (N, 4)."""
    counts = []
    with file.open("wb") as out, file.with_suffix(".bytes").open("wb") as sizes:
        for portion in portions(documents):
            for text, encoded in zip(portion, tokenizer.encode(portion), strict=True):
                out.write(np.append(encoded.ids, tokenizer.separator).astype(dtype).tobytes())
                sizes.write(np.append(encoded.sizes, 0).astype("uint32").tobytes())
                lost, spaces = len(encoded.lost), sum(map(str.isspace, encoded.lost))
                counts.append((len(encoded.ids), len(text), lost, spaces))
    return np.array(counts, np.int64)


def portions(documents: Iterable[str]) -> Iterator[list[str]]:
    """Yield lists of texts with about PORTION characters each."""
    waiting, length = [], 0
    for text in documents:
        waiting.append(text)
        length += len(text)
        if length >= PORTION:
            yield waiting
            waiting, length = [], 0
    if waiting:
        yield waiting
