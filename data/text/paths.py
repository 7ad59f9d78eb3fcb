"""The files that a path names: one file, all of a folder, or those that match a pattern."""

import glob
import os
from pathlib import Path


def local_files(name: str) -> list[tuple[str, Path]]:
    """Return (path relative to `name`, path on this machine) of every file, sorted, without hidden and empty
    ones. An existing file or folder is used as it is, even if its name looks like a pattern."""
    path = Path(name).expanduser()
    if path.is_file():
        root, paths = path.parent, [path]
    elif path.is_dir():
        root, paths = path, list(path.rglob("*"))
    else:
        wild = next((n for n, part in enumerate(path.parts) if glob.has_magic(part)), len(path.parts) - 1)
        root, paths = (
            Path(*path.parts[:wild]),
            [Path(found) for found in glob.glob(str(path), recursive=True)],
        )
    files = [(file.relative_to(root), file) for file in paths if file.is_file() and file.stat().st_size]
    return sorted(
        (os.fsencode(relative.as_posix()).decode(errors="backslashreplace"), file)
        for relative, file in files
        if file == path or not any(part.startswith(".") for part in relative.parts)
    )
