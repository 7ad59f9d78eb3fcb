"""Files that are whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from conf.errors import UsageError

LARGEST = 1 << 26  # bytes of a file that is read at once


@contextmanager
def atomic_write(file: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of the named one when all of it is on the disk."""
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
    """Return what a small file holds. Raise UsageError where something else stands in its place, which might
    be read without an end."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is a folder, a pipe or a device, where a file is needed.")
    with file.open("rb") as opened:
        held = opened.read(LARGEST + 1)
    if len(held) > LARGEST:
        raise UsageError(f"{file} has more than {LARGEST:,} bytes, which none of its kind has.")
    return held


@contextmanager
def errors_name_file(file: Path) -> Iterator[None]:
    """Name the file that was being written in an error of the disk."""
    try:
        yield
    except Exception as error:
        cause = error if isinstance(error, OSError) else error.__context__  # PyTorch's writer buries it
        if isinstance(cause, OSError):
            raise OSError(cause.errno, cause.strerror, str(file)) from error
        raise


def sync(folder: Path) -> None:
    """Put the names in a folder on the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
