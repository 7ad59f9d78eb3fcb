"""`DONE`, the last file of a run folder: the id of the run, and the sha256 of each of its results.

Its lines after the first are as sha256sum writes them; what differs from it is not used, and made again.
"""

import re
from pathlib import Path

from conf.errors import UsageError
from data.digest import of_file
from data.disk import atomic_write, read_file

DONE, RESULTS, RUN, DOCUMENTS = "DONE", "results.jsonl", "run.json", "documents.npz"
VOUCHED = (RESULTS, RUN, DOCUMENTS)
TEXT = re.compile("[0-9a-f]{8}\n" + "".join(f"([0-9a-f]{{64}})  {re.escape(name)}\n" for name in VOUCHED))
OUT_OF_MEMORY = "out_of_memory"  # the metric that marks a length at which memory ran out


def finish(folder: Path, run_id: str) -> None:
    """Write DONE for the files of a run folder."""
    lines = [f"{of_file(folder / name)}  {name}" for name in VOUCHED]
    with atomic_write(folder / DONE) as out:
        out.write("\n".join([run_id, *lines, ""]).encode())


def finished_id(folder: Path) -> str | None:
    """Return the id of the run that finished in a folder; None if there is no DONE."""
    return done_text(folder).partition("\n")[0].strip() if (folder / DONE).exists() else None


def done_text(folder: Path) -> str:
    """Return the text of DONE, whatever it is."""
    return read_file(folder / DONE).decode(errors="replace")


def damage(folder: Path) -> str | None:
    """Return the first result that differs from what was written, and how; None if all are intact."""
    vouched = TEXT.fullmatch(done_text(folder))
    if vouched is None:
        return "DONE is damaged"
    for name, digest in zip(VOUCHED, vouched.groups(), strict=True):
        if not (folder / name).is_file():
            return f"{name} is missing"
        if of_file(folder / name) != digest:
            return f"{name} is not what was written"
    return None


def check_finished(folder: Path) -> None:
    """Raise UsageError unless a folder holds a finished run with intact results."""
    if not (folder / DONE).exists():
        raise UsageError(f"{folder} is not the folder of a finished run: it has no DONE.")
    if wrong := damage(folder):
        raise UsageError(f"In {folder} {wrong}: run it again.")


def is_done(folder: Path, run_id: str) -> bool:
    """Return whether a folder holds this run, finished and intact."""
    return finished_id(folder) == run_id and damage(folder) is None


def has_gaps(folder: Path) -> bool:
    """Return whether memory ran out at a length of a finished run; the same command then tries it again."""
    return f'"{OUT_OF_MEMORY}"' in (folder / RESULTS).read_text()
