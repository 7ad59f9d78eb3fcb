"""The user's own text: a file, a folder or a pattern of plain text, JSON, tables or Parquet, also as .gz."""

import csv
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast

from conf.errors import UsageError
from data.digest import of_content, of_json
from data.text.corpus import Corpus
from data.text.documents import Document
from data.text.paths import local_files

HINT = "give a file, a folder or a pattern such as 'books/*.txt'"
CUT_OFF = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True, kw_only=True)
class Files(Corpus):
    """A plain file is one document, as is an entry of JSON or a row of a table."""

    path: str | None = None
    text_key: str = "text"

    def documents(self) -> Iterator[Document]:
        for source, file in self.files():
            try:
                for place, text in rows(file, self.text_key):
                    if isinstance(text, str):
                        yield Document(text, source + place)
                    elif text is not None:
                        raise UsageError(
                            f"'{self.text_key}' of {file}{place} is not text: set data.text_key."
                        )
            except CUT_OFF:
                raise UsageError(f"{file} is not a whole .gz file: write it again or remove it.") from None
            except UnicodeDecodeError:
                raise UsageError(
                    f"{file} is not UTF-8 text: convert it, or leave it out of data.path."
                ) from None

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
            fault = "holds no files" if Path(self.path).expanduser().is_dir() else "does not exist"
            raise UsageError(f"data.path={self.path} {fault}: {HINT}.")
        return files


def rows(file: Path, key: str) -> Iterator[tuple[str, Any]]:
    """Yield (place in the file, value of the key there); a plain file is a single value."""
    suffix = os.path.splitext(file.name.lower().removesuffix(".gz"))[1]
    readers = {
        ".jsonl": json_lines, ".ndjson": json_lines, ".json": json_list,
        ".csv": table_rows, ".tsv": table_rows, ".parquet": parquet,
    }  # fmt: skip
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as handle:
        yield from readers.get(suffix, plain)(file, cast(IO[bytes], handle), key)


def plain(file: Path, handle: IO[bytes], key: str) -> Iterator[tuple[str, Any]]:
    content = handle.read()
    if b"\0" in content:
        raise UsageError(f"{file} is not text: leave it out of data.path.")
    yield "", content.decode()


def json_lines(file: Path, handle: Iterable[bytes], key: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(handle, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise UsageError(f"Line {number} of {file} is not JSON: correct it or remove it.") from None
        yield f":{number}", value_of(row, key, f"Line {number} of {file}")


def json_list(file: Path, handle: IO[bytes], key: str) -> Iterator[tuple[str, Any]]:
    """Read a list of documents, a single document, or lines as in .jsonl."""
    content = handle.read()
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        yield from json_lines(file, content.splitlines(), key)
        return
    for number, row in enumerate(whole if isinstance(whole, list) else [whole], 1):
        yield f":{number}", value_of(row, key, f"Entry {number} of {file}")


def table_rows(file: Path, handle: IO[bytes], key: str) -> Iterator[tuple[str, Any]]:
    """Read comma- or tab-separated values below a header line."""
    csv.field_size_limit(1 << 30)
    delimiter = "\t" if ".tsv" in file.name.lower() else ","
    text = TextIOWrapper(handle, encoding="utf-8-sig", newline="")
    try:
        for number, row in enumerate(csv.DictReader(text, delimiter=delimiter), 1):
            yield f":{number}", value_of(row, key, f"Row {number} of {file}")
    except csv.Error as error:
        raise UsageError(f"{file} cannot be read as a table ({error}): correct it or remove it.") from None


def parquet(file: Path, handle: IO[bytes], key: str) -> Iterator[tuple[str, Any]]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        content = ParquetFile(handle)
        names = content.schema_arrow.names
        column = key if key in names else key.partition(".")[0]
        if column not in names:
            raise UsageError(f"{file} has no column '{key}' but {', '.join(names)}: set data.text_key.")
        number = 0
        for batch in content.iter_batches(columns=[column]):
            for row in batch.to_pylist():
                number += 1
                yield f":{number}", value_of(row, key, f"Row {number} of {file}")
    except (ArrowException, OSError):
        raise UsageError(f"{file} is not a whole Parquet file: write it again or remove it.") from None


def value_of(row: Any, key: str, place: str) -> Any:
    """Return the value of a key, or of a path of keys such as meta.text."""
    value = row
    for part in [key] if isinstance(row, dict) and key in row else key.split("."):
        if not isinstance(value, dict) or part not in value:
            keys = ", ".join(map(str, row)) if isinstance(row, dict) else "no keys"
            raise UsageError(f"{place} has no '{key}' but {keys}: set data.text_key.")
        value = value[part]
    return value
