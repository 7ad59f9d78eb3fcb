"""Damage to files, as disks, copies and people cause it."""

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def flip(file: Path, at: int) -> None:
    """Flip a bit of a byte."""
    content = bytearray(file.read_bytes())
    content[at] ^= 0x10
    file.write_bytes(content)


def zero(file: Path, at: int, size: int = 512) -> None:
    """Zero a sector, as if it had never been written."""
    content = bytearray(file.read_bytes())
    content[at : at + size] = bytes(len(content[at : at + size]))
    file.write_bytes(content)


def truncate(file: Path, at: int) -> None:
    """Cut a file at a byte, counted from the end if negative."""
    os.truncate(file, at if at >= 0 else file.stat().st_size + at)


def swap(file: Path, other: Path) -> None:
    """Put the file of another run in place of this one."""
    file.unlink()
    shutil.copy(other, file)


def limit(resource_number: int, value: int) -> None:
    resource.setrlimit(resource_number, (value, resource.getrlimit(resource_number)[1]))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Limit the size of files: a write beyond it fails with the kernel's own error, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    limit(resource.RLIMIT_FSIZE, size)
    try:
        yield
    finally:
        limit(resource.RLIMIT_FSIZE, before)
