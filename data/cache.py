"""Files and folders that are either whole or not there. A folder is built by one process and used by all."""

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from data.digest import of_content, of_json

RECORD = "meta.json"
DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError)  # what any damage to it may raise
log = logging.getLogger(__name__)
Record = dict[str, Any]  # of JSON values


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


def build_once(folder: Path, build: Callable[[Path], Record]) -> Record:
    """Return what `build` returned when it filled this folder, now or at any time before.

    One process builds while the others wait. A crash leaves nothing that looks whole, and a damaged folder is
    built again.
    """
    with suppress(*DAMAGE):  # no lock yet: a read-only disk would refuse it
        return read_record(folder)
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.part")
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        with suppress(*DAMAGE):
            return read_record(folder)  # another process was first
        if folder.exists():
            log.warning("The prepared data in %s is damaged; it is built again.", folder)
        for left in (folder, part):
            shutil.rmtree(left, ignore_errors=True)
        part.mkdir()
        try:
            content = build(part)
            files = {file.name: [file.stat().st_mtime_ns, of_content(file)] for file in part.iterdir()}
            record = {"content": content, "files": files, "digest": of_json([content, files])}
            (part / RECORD).write_text(json.dumps(record, indent=1), "utf-8")
            for file in part.iterdir():
                with file.open("rb") as handle:
                    os.fsync(handle.fileno())
            os.replace(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return content


def read_record(folder: Path) -> Record:
    """Return the content of a folder's record. Raise ValueError if a file is not as it was written; only
    files with another time than the record, such as those of a copied folder, are read for this."""
    record = json.loads((folder / RECORD).read_text("utf-8"))
    is_whole = record["digest"] == of_json([record["content"], record["files"]])
    for name, (time, digest) in record["files"].items():
        is_same = (folder / name).stat().st_mtime_ns == time or of_content(folder / name) == digest
        is_whole = is_whole and is_same
    if not is_whole:
        raise ValueError(f"{folder} is not as it was written")
    return dict(record["content"])
