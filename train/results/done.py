"""`DONE`, the last file of a run folder: the cell of the run, and the sha256 of each of its results.

A line of it is as sha256sum writes it; what differs from it is not used, and made again.
"""

from pathlib import Path

from data.digest import of_file
from data.disk import written

RESULTS, RUN, DOCUMENTS = "results.jsonl", "run.json", "documents.npz"
OUT_OF_MEMORY = "out_of_memory"  # the metric that marks a length at which memory ran out


def finish(folder: Path, cell: str) -> None:
    """Vouch for what is in a run folder."""
    lines = [f"{of_file(folder / name)}  {name}" for name in (RESULTS, RUN, DOCUMENTS)]
    with written(folder / "DONE") as out:
        out.write("\n".join([cell, *lines, ""]).encode())


def finished(folder: Path) -> str | None:
    """The cell of the run that was finished here."""
    done = folder / "DONE"
    return done.read_text(errors="replace").partition("\n")[0].strip() if done.exists() else None


def damage(folder: Path) -> str | None:
    """The first of the results that is not what was written, and how."""
    for line in (folder / "DONE").read_text(errors="replace").splitlines()[1:]:
        expected, _, name = line.partition("  ")
        if name not in (RESULTS, RUN, DOCUMENTS):
            return "DONE is damaged"
        if not (folder / name).exists():
            return f"{name} is missing"
        if of_file(folder / name) != expected:
            return f"{name} is not what was written"
    return None if (folder / RESULTS).exists() else f"{RESULTS} is missing"


def is_done(folder: Path, cell: str) -> bool:
    """Whether a folder holds this very run, finished and whole."""
    return finished(folder) == cell and damage(folder) is None


def has_gaps(folder: Path) -> bool:
    """Whether memory ran out at a length of a finished run, which the same command tries again."""
    return f'"{OUT_OF_MEMORY}"' in (folder / RESULTS).read_text()
