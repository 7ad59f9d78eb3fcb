"""The sha256 that addresses what is kept, as hex digits."""

import hashlib
import json
from pathlib import Path
from typing import Any


def of_file(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def of_json(content: Any) -> str:
    """Whatever the order of keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
