"""Digests by content: hex digits of a sha256."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any


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


def of_json(content: Any) -> str:
    """Return the digest of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
