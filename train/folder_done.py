"""Whether a run folder holds a finished run: what a sweep's parent asks, without importing numpy."""

from pathlib import Path


def is_done(folder: Path, cell: str) -> bool:
    done = folder / "DONE"
    return done.exists() and done.read_text().strip() == cell
