"""A folder that one process builds and all processes use. It is either whole or not there."""

import json
import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from data.disk import of_file, of_json

RECORD = "meta.json"
DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError)  # what any damage to it may raise
log = logging.getLogger(__name__)
Record = dict[str, Any]  # of JSON values


def build_once(folder: Path, build: Callable[[Path], Record]) -> Record:
    """Return what `build` returned when it filled this folder, now or at any time before.

    One process builds while the others wait. A crash leaves nothing that looks whole, and a damaged folder is
    built again.
    """
    with suppress(*DAMAGE):  # no lock yet: a read-only disk would refuse it
        return read_record(folder)
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        try:
            return read_record(folder)  # another process was first
        except DAMAGE as error:
            if folder.exists():
                log.warning("The prepared data in %s is damaged (%s); it is built again.", folder, error)
        part = folder.with_name(f".{folder.name}.part")
        for left in (folder, part):
            shutil.rmtree(left, ignore_errors=True)
        part.mkdir()
        try:
            content = build(part)
            files = {file.name: [file.stat().st_mtime_ns, of_file(file)] for file in sorted(part.iterdir())}
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
    """Return the content of a folder's record. Raise ValueError if a file is not as it was written.

    Only files with another time than the record are read for this, such as those of a copied folder.
    """
    record = json.loads((folder / RECORD).read_text("utf-8"))
    if record["digest"] != of_json([record["content"], record["files"]]):
        raise ValueError(f"{RECORD} has another content")
    for name, (time, digest) in record["files"].items():
        if (folder / name).stat().st_mtime_ns != time:
            if of_file(folder / name) != digest:
                raise ValueError(f"{name} has another content")
            with suppress(OSError):  # of a folder that cannot be written
                os.utime(folder / name, ns=(time, time))
    return dict(record["content"])
