"""Files that are either whole or absent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from conf.errors import UsageError

LARGEST = 1 << 26  # bytes of a file that is read at once


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
            sync(file.parent)
    finally:
        part.unlink(missing_ok=True)


def read_file(file: Path) -> bytes:
    """Return the content of a small file. Raise UsageError if it is no regular file, which reading might
    never finish."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is a folder, a pipe or a device, where a file is needed.")
    with file.open("rb") as opened:
        held = opened.read(LARGEST + 1)
    if len(held) > LARGEST:
        raise UsageError(f"{file} has more than {LARGEST:,} bytes, which none of its kind has.")
    return held


@contextmanager
def errors_name_file(file: Path) -> Iterator[None]:
    """Add the name of the file to an error of the disk."""
    try:
        yield
    except Exception as error:
        cause = error if isinstance(error, OSError) else error.__context__  # PyTorch's writer buries it
        if isinstance(cause, OSError):
            raise OSError(cause.errno, cause.strerror, str(file)) from error
        raise


def sync(folder: Path) -> None:
    """Write the directory entries of a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
