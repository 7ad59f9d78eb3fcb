"""`DONE`, the last file of a run folder: the sha256 of each of its files, which `sha256sum -c DONE` checks.

Its first line, a comment, is the id of the run. What differs from it is not used, and made again.
"""

import re
from pathlib import Path

from conf.errors import UsageError
from data.digest import of_content
from data.disk import atomic_write, read_file

DONE, RESULTS, RUN, DOCUMENTS, TOKENIZER = (
    "DONE",
    "results.jsonl",
    "run.json",
    "documents.npz",
    "tokenizer.json",
)
NEEDED = {RESULTS, RUN, DOCUMENTS}
TEXT = re.compile(r"# ([0-9a-f]{8})\n((?:[0-9a-f]{64}  [\w.-]+\n)+)")
OUT_OF_MEMORY = "out_of_memory"  # the metric that marks a length at which memory ran out


def finish(folder: Path, run_id: str) -> None:
    """Write DONE for the files of a run folder."""
    lines = [
        f"{of_content(folder / name)}  {name}\n" for name in sorted(NEEDED | weights_and_tokenizer(folder))
    ]
    with atomic_write(folder / DONE) as out:
        out.write(f"# {run_id}\n{''.join(lines)}".encode())


def weights_and_tokenizer(folder: Path) -> set[str]:
    """Return the names of the files of a model in a run folder."""
    return {file.name for file in (*folder.glob("*.ckpt"), *folder.glob(TOKENIZER))}


def read_done(folder: Path) -> tuple[str, dict[str, str]]:
    """Return the id of the run that finished in a folder, and the digest of each file by name; nothing where
    DONE is missing or damaged."""
    text = read_file(folder / DONE).decode(errors="replace") if (folder / DONE).exists() else ""
    if (match := TEXT.fullmatch(text)) is None:
        return "", {}
    digests = {name: digest for digest, name in (line.split("  ") for line in match[2].splitlines())}
    return (match[1], digests) if digests.keys() >= NEEDED else ("", {})


def finished_id(folder: Path) -> str | None:
    """Return the id of the run that finished in a folder: None without DONE, empty if it is damaged."""
    return read_done(folder)[0] if (folder / DONE).exists() else None


def damage(folder: Path) -> str | None:
    """Return the first file that differs from what was written, and how; None if all are intact. Weights may
    be deleted to save space."""
    digests = read_done(folder)[1]
    if not digests:
        return "DONE is damaged"
    for name in sorted(digests.keys() | weights_and_tokenizer(folder)):
        if not (folder / name).is_file():
            if not name.endswith(".ckpt"):
                return f"{name} is missing"
        elif of_content(folder / name) != digests.get(name):
            return f"{name} is not what was written"
    return None


def check_finished(folder: Path) -> None:
    """Raise UsageError unless a folder holds a finished run whose files are intact."""
    if not (folder / DONE).exists():
        raise UsageError(f"{folder} is not the folder of a finished run: it has no DONE.")
    if wrong := damage(folder):
        raise UsageError(f"In {folder} {wrong}: run it again.")


def is_done(folder: Path, run_id: str) -> bool:
    """Return whether a folder holds this run, finished and intact."""
    return read_done(folder)[0] == run_id and damage(folder) is None


def has_gaps(folder: Path) -> bool:
    """Return whether memory ran out at a length of a finished run; the same command then tries it again."""
    return f'"{OUT_OF_MEMORY}"' in (folder / RESULTS).read_text()
