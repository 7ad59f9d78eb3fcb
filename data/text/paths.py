"""The files that a path names: one file, all of a folder, or those that match a pattern."""

import glob
import os
from pathlib import Path


def local_files(name: str) -> list[tuple[str, Path]]:
    """Return (path relative to `name`, path on this machine) of every file, sorted, without hidden ones.

    An existing file or folder is used as it is, even if its name looks like a pattern.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return [(utf8_name(path.name), path)]
    root = path if path.is_dir() else fixed_folder(path)
    paths = path.rglob("*") if path.is_dir() else map(Path, glob.glob(str(path), recursive=True))
    files = [(file.relative_to(root), file) for file in paths if file.is_file()]
    return sorted(
        (utf8_name(relative.as_posix()), file)
        for relative, file in files
        if not any(part.startswith(".") for part in relative.parts)
    )


def fixed_folder(pattern: Path) -> Path:
    """Return the folders of a pattern before its first wildcard."""
    wild = next((n for n, part in enumerate(pattern.parts) if glob.has_magic(part)), len(pattern.parts) - 1)
    return Path(*pattern.parts[:wild])


def utf8_name(name: str) -> str:
    """Return the name of a file as valid UTF-8."""
    return os.fsencode(name).decode(errors="backslashreplace")
