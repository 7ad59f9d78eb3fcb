"""The user's own text: files of plain text, JSON or tables, each also as .gz, or of Parquet."""

import glob
import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from data.digest import of_content, of_json
from data.text.corpus import Corpus
from data.text.documents import Document

HINT = "give a file, a folder or a pattern such as 'books/*.txt'"
KINDS = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet",
}  # fmt: skip
PIECE = 1_000_000  # characters of each document that a long plain file becomes
PIECES = 8  # up to which a plain file is a single document


@dataclass(frozen=True, kw_only=True)
class Files(Corpus):
    """A plain file is one document, as is an entry of JSON or a row of a table. A plain file of more than
    eight million characters becomes documents of a million each, so that it need not fit in memory."""

    path: str | None = None
    text_key: str = "text"

    def documents(self) -> Iterator[Document]:
        for source, file in self.files():
            for place, text in texts_of_file(file, self.text_key):
                yield Document(text, source + place)

    def contents(self) -> dict[str, object]:
        return {"path": of_json([(source, of_content(file)) for source, file in self.files()])}

    def origin(self) -> str:
        return f"{self.path}"

    def files(self) -> list[tuple[str, Path]]:
        """Return (path relative to `path`, path on this machine) of every file, at least one."""
        if not self.path:
            raise UsageError(f"data={self.name} needs data.path: {HINT}.")
        files = local_files(self.path)
        if not files:
            fault = "holds no text" if Path(self.path).expanduser().exists() else "does not exist"
            raise UsageError(f"data.path={self.path} {fault}: {HINT}.")
        return files


def local_files(name: str) -> list[tuple[str, Path]]:
    """Return (path relative to `name`, path on this machine) of the files that a path names, sorted: one
    file, all of a folder, or those that match a pattern, without hidden and empty ones."""
    path = Path(name).expanduser()
    if path.is_file():
        return [(path.name, path)] if path.stat().st_size else []
    paths: Iterable[Path]
    if path.is_dir():  # even if its name looks like a pattern
        root, paths = path, path.rglob("*")
    else:
        wild = next((n for n, part in enumerate(path.parts) if glob.has_magic(part)), len(path.parts) - 1)
        root, paths = Path(*path.parts[:wild]), map(Path, glob.glob(str(path), recursive=True))
    files = ((file.relative_to(root), file) for file in paths if file.is_file() and file.stat().st_size)
    return sorted(
        (relative.as_posix().encode(errors="backslashreplace").decode(), file)
        for relative, file in files
        if not any(part.startswith(".") for part in relative.parts)
    )


def texts_of_file(file: Path, key: str) -> Iterator[tuple[str, str]]:
    """Yield (place in the file, text there). Raise UsageError, which names the file, if it is unreadable."""
    kind = KINDS.get(Path(file.name.lower().removesuffix(".gz")).suffix)
    try:
        yield from plain_texts(file) if kind is None else row_texts(file, kind, key)
    except UsageError:
        raise
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text: convert it, or leave it out of data.path.") from None
    except Exception as error:  # of gzip, `datasets`, pandas and pyarrow, which have no base in common
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UsageError(
            f"{file} cannot be read ({reason}): correct it, or leave it out of data.path."
        ) from None


def plain_texts(file: Path) -> Iterator[tuple[str, str]]:
    """Yield a plain file as one document; a long one in pieces that end with a line."""
    opened = gzip.open if file.suffix.lower() == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as text:
        pieces = iter(lambda: text.read(PIECE) + text.readline(PIECE), "")
        first = list(islice(pieces, PIECES + 1))
        if any("\0" in piece for piece in first):
            raise UsageError(f"{file} is not text: leave it out of data.path.")
        if len(first) <= PIECES:
            yield "", "".join(first)
        else:
            yield from ((f":{number}", piece) for number, piece in enumerate(chain(first, pieces), 1))


def row_texts(file: Path, kind: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a table or of a list of JSON. A row whose text is null is left out."""
    from datasets import Features, Value, load_dataset

    options: dict[str, Any] = {}
    if kind == "csv":  # a text may look like a number or like a missing value
        options = {"usecols": [key], "features": Features({key: Value("string")}), "keep_default_na": False}
        options["sep"] = "\t" if ".tsv" in file.name.lower() else ","
    elif kind == "parquet":
        options = {"columns": [key.partition(".")[0]]}
    rows = load_dataset(kind, data_files=glob.escape(str(file)), split="train", streaming=True, **options)
    for number, row in enumerate(rows, 1):
        value: Any = row
        for part in [key] if key in row else key.split("."):
            if not isinstance(value, dict) or part not in value:
                raise UsageError(
                    f"Row {number} of {file} has no '{key}' but {', '.join(row)}: set data.text_key."
                )
            value = value[part]
        if isinstance(value, str):
            yield f":{number}", value
        elif value is not None:
            raise UsageError(f"'{key}' of {file}:{number} is not text: set data.text_key.")
