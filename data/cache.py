"""A folder that is built once, by the first process that needs it, and is either whole or not there."""

import json
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from data.digest import of_file, of_json
from data.disk import atomic_write

RECORD = "meta.json"
log = logging.getLogger(__name__)


class DamagedError(Exception):
    """A cached folder that differs from its record."""


def build_once(folder: Path, build: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Return what `build` returned when it filled this folder, now or at any time before.

    One process builds while the others wait. It builds elsewhere and renames, so that a crash
    leaves nothing that looks whole; a damaged folder is built again.
    """
    try:
        if folder.exists():
            return read_whole(folder)
    except DamagedError as error:
        log.warning("The prepared data in %s is damaged (%s); it is built again.", folder, error)
    try:
        return build_locked(folder, build)
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT, EFBIG):
            raise
        raise OSError(f"The disk is full: the prepared data needs more room in {folder.parent}.") from error


def build_locked(folder: Path, build: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        try:
            return read_whole(folder)  # another process was first
        except DamagedError:
            shutil.rmtree(folder, ignore_errors=True)
        for left in folder.parent.glob(f".{folder.name}.part-*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        with TemporaryDirectory(prefix=f".{folder.name}.part-", dir=folder.parent) as part:
            inside = Path(part) / "new"
            inside.mkdir()
            write_record(inside, build(inside))
            os.replace(inside, folder)
        return read_whole(folder)


def write_record(folder: Path, content: Mapping[str, object]) -> None:
    """Write the record of a folder next to its files, after all of them are on the disk."""
    files = {file.name: of_file(file) for file in sorted(folder.iterdir())}
    remember(folder, content, files)
    for file in folder.iterdir():
        with file.open("rb") as handle:
            os.fsync(handle.fileno())


def remember(folder: Path, content: Mapping[str, object], files: dict[str, str]) -> None:
    """Write the record of a folder, with the stamp of each file at that time."""
    stamps = {name: stamp(folder / name) for name in files}
    record = {"content": content, "files": files, "digest": of_json([content, files]), "stamps": stamps}
    with atomic_write(folder / RECORD) as out:
        out.write(json.dumps(record, indent=1).encode())


def read_whole(folder: Path) -> dict[str, Any]:
    """Return the content of a folder's record. Raise DamagedError unless every file is as it was written;
    only files that were touched, copied or moved since are read for this."""
    try:
        record = json.loads((folder / RECORD).read_text())
        content, files = record["content"], record["files"]
        if record["digest"] != of_json([content, files]):
            raise DamagedError(f"{RECORD} has another content")
        touched = [name for name in files if record["stamps"].get(name) != stamp(folder / name)]
        for name in touched:
            if of_file(folder / name) != files[name]:
                raise DamagedError(f"{name} has another content")
    except FileNotFoundError as error:
        raise DamagedError(f"{Path(error.filename).name} is missing") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DamagedError(f"{RECORD} cannot be read") from None
    if touched:
        with suppress(OSError):  # a folder that cannot be written is measured again
            remember(folder, content, files)
    return dict(content)


def stamp(file: Path) -> list[int]:
    """Return numbers that change whenever a file is touched."""
    stat = file.stat()
    return [stat.st_ino, stat.st_size, stat.st_mtime_ns]
