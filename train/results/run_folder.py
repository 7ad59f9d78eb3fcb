"""The run folder: results.jsonl, documents.npz, run.json, checkpoints, a tokenizer, and `DONE`, written last.

`DONE` holds the sha256 of each of these files, which `sha256sum -c DONE` checks. Its first line, a comment,
is the id of the run. A file that differs is not used, and is made again.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from conf.errors import UsageError
from data.cache import atomic_write
from data.digest import of_content
from train.runtime.ranks import is_rank_zero

DONE, RESULTS, RUN = "DONE", "results.jsonl", "run.json"
DOCUMENTS, TOKENIZER = "documents.npz", "tokenizer.json"
NEEDED = {RESULTS, RUN, DOCUMENTS}
TEXT = re.compile(r"# ([0-9a-f]{8})\n((?:[0-9a-f]{64}  [\w.-]+\n)+)")
OUT_OF_MEMORY = "out_of_memory"  # the metric that marks a length at which memory ran out


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file, text in UTF-8, whole or not at all. An error of the disk names the file."""
    with atomic_write(file) as out:
        out.write(content.encode() if isinstance(content, str) else content)


def write_arrays(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays, whole or not at all."""
    with atomic_write(file) as out:
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]  # takes any names


def write_results(
    folder: Path, rows: str, scores: dict[str, np.ndarray], about: Mapping[str, object], kept: dict[str, Path]
) -> None:
    """Write the lines of results.jsonl and the rest, and link the files that stay, by their names."""
    for old in (DONE, RESULTS):
        (folder / old).unlink(missing_ok=True)
    write_arrays(folder / DOCUMENTS, scores)
    write_whole(folder / RUN, json.dumps(about, indent=1))
    for name, file in kept.items():
        link_or_copy(file, folder / name)
    write_whole(folder / RESULTS, rows)


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it if the file system has no links."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def write_done(folder: Path, run_id: str) -> None:
    """Write DONE for the files of a run folder."""
    names = sorted(NEEDED | weights_and_tokenizer(folder))
    lines = [f"{of_content(folder / name)}  {name}\n" for name in names]
    write_whole(folder / DONE, f"# {run_id}\n{''.join(lines)}")


def weights_and_tokenizer(folder: Path) -> set[str]:
    """Return the names of the files of a model in a run folder."""
    return {file.name for file in (*folder.glob("*.ckpt"), *folder.glob(TOKENIZER))}


def read_done(folder: Path) -> tuple[str, dict[str, str]]:
    """Return the id of the run that finished in a folder, and the digest of each file by name; nothing where
    DONE is missing or damaged."""
    text = (folder / DONE).read_bytes().decode(errors="replace") if (folder / DONE).exists() else ""
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
    return f'"{OUT_OF_MEMORY}"' in (folder / RESULTS).read_text("utf-8")


def is_complete(folder: Path, run_id: str) -> bool:
    """Return whether this run finished here. Raise UsageError if another one did: it is not overwritten."""
    kept = finished_id(folder)
    if kept is None:
        return False
    if kept != run_id and not folder.name.endswith(run_id):
        raise UsageError(
            f"{folder} holds the results of another run: choose another hydra.run.dir, or delete it."
        )
    wrong = damage(folder) if kept == run_id else "DONE is damaged"
    if wrong is None and has_gaps(folder):
        wrong = "memory ran out at a length"
    if wrong is not None and is_rank_zero():
        print(f"In {folder} {wrong}: it is evaluated again.", flush=True)
    return wrong is None
