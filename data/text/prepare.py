"""Preparation: documents become a tokenizer and two files of token ids, for `data.text.tokens` to read."""

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from conf.errors import UsageError
from data.digest import of_file, of_json
from data.source import VocabularyTooSmallError
from data.text.documents import Documents
from data.text.foreign import ForeignTokenizer
from data.text.prepared import Prepared
from data.text.split import MEGABYTE, Entries, select_by_rank, split, texts
from data.text.tokenizer import SAMPLE, ByteLevelBPE, Bytes, Tokenizer

PORTION = 4e6  # characters of text that are encoded at a time
LOST = 0.01  # share of a text that may have no tokens
log = logging.getLogger(__name__)


def prepare(corpus: Documents, vocab: int, folder: Path) -> Prepared:
    """Fill a folder with token ids, and with the number of bytes that each held-out token covers."""
    log.info("Preparing data=%s from %s, once ...", corpus.name, corpus.origin())
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # all cores, also after a fork
    training, held_out = split(corpus)
    parts = {"training": training, "held_out": held_out}
    sample = texts_of(corpus, select_by_rank(training, SAMPLE))
    tokenizer = tokenizer_of(corpus.tokenizer, vocab, corpus.end_token, sample)
    tokenizer.save(folder)
    dtype = "uint16" if tokenizer.vocab <= 2**16 else "uint32"
    counts = {
        name: encode(texts_of(corpus, part), tokenizer, folder / f"{name}.bin", dtype)
        for name, part in parts.items()
    }
    np.save(folder / "held_out_lengths.npy", counts["held_out"][:, 0])
    (folder / "training.bytes").unlink()
    digests = {file.name: of_file(file) for file in sorted(folder.iterdir())}
    rows = [f"{name}\t{key}\t{part[key].source}\n" for name, part in parts.items() for key in sorted(part)]
    (folder / "documents.tsv").write_text("".join(rows), encoding="utf-8")
    about = [
        f"{name.replace('_', ' ')}: {len(part):,} documents, "
        f"{sum(entry.size for entry in part.values()) / MEGABYTE:.1f} MB, {counts[name][:, 0].sum():,} tokens"
        for name, part in parts.items()
    ]
    warning = lost_text(corpus, [count.sum(0) for count in counts.values()])
    description = [f"{corpus.name}: {corpus.origin()}", tokenizer.description, *about, warning]
    return Prepared(
        name=corpus.name,
        fingerprint=of_json(digests),
        description="; ".join(filter(None, description)),
        vocab=tokenizer.vocab,
        dtype=dtype,
        mask_token=tokenizer.mask_token,
        warning=warning,
    )


def tokenizer_of(choice: str, vocab: int, end_token: str | None, texts: Iterable[str]) -> Tokenizer:
    """Return the tokenizer that `data.tokenizer` names, trained on `texts` if it is `bpe`."""
    if choice in ("bpe", "bytes") and end_token is not None:
        raise UsageError(f"data.end_token={end_token} is for a tokenizer.json: leave it out.")
    if choice == "bpe":
        return ByteLevelBPE(vocab, texts)
    tokenizer = Bytes() if choice == "bytes" else ForeignTokenizer(Path(choice).expanduser(), end_token)
    if tokenizer.vocab > vocab:
        raise VocabularyTooSmallError(
            f"model.vocab={vocab} is too small for {choice}, which has {tokenizer.vocab} tokens: "
            f"set model.vocab={tokenizer.vocab}."
        )
    return tokenizer


def lost_text(corpus: Documents, counts: list[np.ndarray]) -> str:
    """Return a warning about text that no token stands for. Raise UsageError if more than a percent of the
    characters are lost that are not white space."""
    _, characters, lost, spaces = np.sum(counts, axis=0).tolist()
    setting = f"data.tokenizer={corpus.tokenizer}"
    share = f"{(lost + spaces) / characters:.2%} of the characters of data={corpus.name}"
    if lost > LOST * characters or not all(tokens for tokens, *_ in counts):
        raise UsageError(f"{setting} has no tokens for {share}: choose another, or bpe.")
    if not lost and not spaces:
        return ""
    return (
        f"Warning: {setting} has no tokens for {share}, of which {spaces / (lost + spaces):.0%} are white "
        "space. bits_per_byte counts them, although the model does not predict them."
    )


def texts_of(corpus: Documents, part: Entries) -> Iterator[str]:
    """Read the texts of some documents again, each once."""
    waiting = dict(part)
    for key, document in texts(corpus):
        if entry := waiting.pop(key, None):
            yield document.text.encode()[: entry.size].decode(errors="ignore")
    if waiting:
        raise UsageError(f"data={corpus.name} changed while it was read ({corpus.origin()}): run again.")


def encode(documents: Iterable[str], tokenizer: Tokenizer, file: Path, dtype: str) -> np.ndarray:
    """Write the ids of documents, with a separator after each, and the number of bytes that each token
    covers. Return how many tokens, characters, lost characters and lost spaces each document has, (N, 4)."""
    counts = []
    with file.open("wb") as out, file.with_suffix(".bytes").open("wb") as sizes:
        for portion in portions(documents):
            for text, encoded in zip(portion, tokenizer.encode(portion), strict=True):
                out.write(np.append(encoded.ids, tokenizer.separator).astype(dtype).tobytes())
                sizes.write(np.append(encoded.sizes, 0).astype("uint32").tobytes())
                counts.append((len(encoded.ids), len(text), encoded.lost, encoded.lost_spaces))
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
