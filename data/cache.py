"""A folder that is built once, by the first process that needs it, and is either whole or not there."""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

RECORD = "meta.json"
CHECKED = 32 * 2**20  # bytes; a larger file is checked by its size alone
log = logging.getLogger(__name__)


class DamagedError(Exception):
    """A cached folder is not what was written."""


def cached(folder: Path, build: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What `build` returned when it filled this folder, now or at any time before.

    One process builds while the others wait. It builds elsewhere and renames, so that a crash
    leaves nothing that looks whole; a damaged folder is built again.
    """
    try:
        if folder.exists():
            return read(folder)
    except DamagedError as error:
        log.warning("The prepared data in %s is damaged (%s); it is built again.", folder, error)
    try:
        return locked(folder, build)
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT, EFBIG):
            raise
        raise OSError(f"The disk is full: the prepared data needs more room in {folder.parent}.") from error


def locked(folder: Path, build: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        try:
            return read(folder)  # another process was first
        except (DamagedError, FileNotFoundError):
            shutil.rmtree(folder, ignore_errors=True)
        for left in folder.parent.glob(f".{folder.name}.part-*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        with TemporaryDirectory(prefix=f".{folder.name}.part-", dir=folder.parent) as part:
            inside = Path(part) / "new"
            inside.mkdir()
            write(inside, build(inside))
            os.replace(inside, folder)
        return read(folder)


def write(folder: Path, content: dict[str, Any]) -> None:
    """Put the record beside the files that it vouches for, all of it on the disk."""
    files = {file.name: [file.stat().st_size, digest(file)] for file in sorted(folder.iterdir())}
    (folder / RECORD).write_text(json.dumps({"content": content, "files": files}, indent=1))
    for file in folder.iterdir():
        with file.open("rb") as handle:
            os.fsync(handle.fileno())


def read(folder: Path) -> dict[str, Any]:
    """The content of the record of a folder, every file of which is as it was written."""
    if not folder.exists():
        raise FileNotFoundError(folder)
    try:
        record = json.loads((folder / RECORD).read_text())
        for name, (size, expected) in record["files"].items():
            if (folder / name).stat().st_size != size:
                raise DamagedError(f"{name} has another size")
            if size <= CHECKED and digest(folder / name) != expected:
                raise DamagedError(f"{name} has another content")
        content: dict[str, Any] = record["content"]
    except FileNotFoundError as error:
        raise DamagedError(f"{Path(error.filename).name} is missing") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DamagedError(f"{RECORD} cannot be read") from None
    return content


def digest(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
