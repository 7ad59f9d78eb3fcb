"""The user's own text: a file, a folder or a pattern of plain text, JSON lines or Parquet, also as .gz."""

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from data.digest import of_content, of_json
from data.text.corpus import Corpus
from data.text.documents import Document
from data.text.paths import local_files

HINT = "give a file, a folder or a pattern such as 'books/*.txt'"
CUT_OFF = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True, kw_only=True)
class Files(Corpus):
    """A plain file is one document; a line of JSON or a row of Parquet is one, too."""

    path: str | None = None
    text_key: str = "text"

    def documents(self) -> Iterator[Document]:
        for source, file in self.files():
            try:
                for row, text in rows(file, self.text_key):
                    if isinstance(text, str):
                        yield Document(text, source + row)
                    elif text is not None:
                        raise UsageError(f"'{self.text_key}' of {file}{row} is not text: set data.text_key.")
            except CUT_OFF:
                raise UsageError(f"{file} is not a whole .gz file: write it again or remove it.") from None

    def contents(self) -> dict[str, Any]:
        return {"path": of_json([(source, of_content(file)) for source, file in self.files()])}

    def origin(self) -> str:
        return f"{self.path}"

    def files(self) -> list[tuple[str, Path]]:
        """Return (path relative to `path`, path on this machine) of every file, at least one."""
        if not self.path:
            raise UsageError(f"data={self.name} needs data.path: {HINT}.")
        files = local_files(self.path)
        if not files:
            what = "holds no files" if Path(self.path).expanduser().is_dir() else "does not exist"
            raise UsageError(f"data.path={self.path} {what}: {HINT}.")
        return files


def rows(file: Path, key: str) -> Iterator[tuple[str, Any]]:
    """(place in the file, value of the key there); of a plain file, all of it."""
    suffix = os.path.splitext(file.name.lower().removesuffix(".gz"))[1]
    readers = {".jsonl": json_lines, ".ndjson": json_lines, ".parquet": parquet}
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as handle:
        yield from readers.get(suffix, plain)(file, handle, key)


def plain(file: Path, handle: BufferedIOBase, key: str) -> Iterator[tuple[str, Any]]:
    content = handle.read()
    try:
        if b"\0" in content:
            raise UsageError("binary")
        yield "", content.decode()
    except ValueError:
        raise UsageError(f"{file} is not UTF-8 text: convert it, or leave it out of data.path.") from None


def json_lines(file: Path, handle: BufferedIOBase, key: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(handle, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise UsageError(f"Line {number} of {file} is not JSON: correct it or remove it.") from None
        if not isinstance(row, dict) or key not in row:
            keys = ", ".join(row) if isinstance(row, dict) else "no keys"
            raise UsageError(f"Line {number} of {file} has no '{key}' but {keys}: set data.text_key.")
        yield f":{number}", row[key]


def parquet(file: Path, handle: BufferedIOBase, key: str) -> Iterator[tuple[str, Any]]:
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import ParquetFile

    try:
        table = ParquetFile(handle)
    except ArrowInvalid:
        raise UsageError(f"{file} is not a Parquet file: write it again or remove it.") from None
    columns = table.schema_arrow.names
    if key not in columns:
        raise UsageError(f"{file} has no column '{key}' but {', '.join(columns)}: set data.text_key.")
    number = 0
    for batch in table.iter_batches(columns=[key]):
        for text in batch.column(0).to_pylist():
            number += 1
            yield f":{number}", text
