"""Files on the disk: their digests, in hex digits of a sha256, and files that are either whole or absent."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import BinaryIO


def of_file(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def of_content(file: Path) -> str:
    """Return the digest of a file, which this process reads again only if it was written to since."""
    stat = file.stat()
    return of_unchanged(file, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@cache
def of_unchanged(file: Path, *stamp: int) -> str:
    return of_file(file)


def of_json(content: object) -> str:
    """Return the digest of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def atomic_write(file: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces the named one once all of it is on the disk."""
    part = file.with_name(f"{file.name}.part")
    try:
        with errors_name_file(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def errors_name_file(file: Path) -> Iterator[None]:
    """Add the name of the file to an error of the disk."""
    try:
        yield
    except Exception as error:
        cause = error if isinstance(error, OSError) else error.__context__  # PyTorch's writer hides it there
        if isinstance(cause, OSError):
            raise OSError(cause.errno, cause.strerror, str(file)) from error
        raise
