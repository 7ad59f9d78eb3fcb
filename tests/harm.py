"""Harm to files: what disks, copies and people do to them."""

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def flip(file: Path, at: int) -> None:
    """One bit of a byte."""
    content = bytearray(file.read_bytes())
    content[at] ^= 0x10
    file.write_bytes(content)


def zero(file: Path, at: int, size: int = 512) -> None:
    """A sector that was never written."""
    content = bytearray(file.read_bytes())
    content[at : at + size] = bytes(len(content[at : at + size]))
    file.write_bytes(content)


def cut(file: Path, at: int) -> None:
    """Everything from a byte on is lost; where it is negative, so many bytes of the end."""
    os.truncate(file, at if at >= 0 else file.stat().st_size + at)


def swap(file: Path, other: Path) -> None:
    """The file of another run in its place."""
    file.unlink()
    shutil.copy(other, file)


def limit(resource_number: int, value: int) -> None:
    resource.setrlimit(resource_number, (value, resource.getrlimit(resource_number)[1]))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A disk that refuses to write more: the kernel's own error, as when it is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    limit(resource.RLIMIT_FSIZE, size)
    try:
        yield
    finally:
        limit(resource.RLIMIT_FSIZE, before)
