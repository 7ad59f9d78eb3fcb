"""Files that are either whole or absent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from conf.errors import UsageError


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


def read_file(file: Path) -> bytes:
    """Return the content of a file. Raise UsageError if it is a pipe or a device, which might never end."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is a folder, a pipe or a device, where a file is needed.")
    return file.read_bytes()
