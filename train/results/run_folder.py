"""The run folder: results.jsonl, documents.npz, run.json, the checkpoint, and DONE, written last."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from conf.errors import UsageError
from data.disk import atomic_write
from train.results.done import DOCUMENTS, DONE, RESULTS, RUN, damage, finished_id, has_gaps
from train.results.rows import Row, append_rows
from train.runtime.ranks import is_rank_zero


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


def write_results(
    folder: Path,
    rows: list[Row],
    scores: dict[str, np.ndarray],
    about: Mapping[str, object],
    files: Mapping[str, Path],
) -> None:
    """Write all results, and the files that stay, by their names in the folder."""
    for old in (DONE, RESULTS):
        (folder / old).unlink(missing_ok=True)
    with atomic_write(folder / DOCUMENTS) as out:
        np.savez_compressed(out, **scores)  # type: ignore[arg-type]  # takes any names
    write_text(folder / RUN, json.dumps(about, indent=1))
    for name, file in files.items():
        link(file, folder / name)
    append_rows(folder / RESULTS, rows)


def write_text(file: Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    with atomic_write(file) as out:
        out.write(text.encode())


def link(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it if the file system has no links."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
