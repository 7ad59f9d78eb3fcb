"""The run folder: results.jsonl, documents.npz, run.json, the checkpoint, and DONE, written last."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from conf.errors import UsageError
from data.disk import atomic_write
from train.results.done import DOCUMENTS, DONE, RESULTS, RUN, damage, finished, has_gaps
from train.results.rows import Row, append
from train.runtime.ranks import is_rank_zero


@dataclass(frozen=True)
class Folder:
    """The folder of a run's results."""

    path: Path
    cell: str

    def is_done(self) -> bool:
        """Return whether this very run was finished here; refuse to overwrite another one."""
        kept = finished(self.path)
        if kept is None:
            return False
        if kept != self.cell and not self.path.name.endswith(self.cell):
            raise UsageError(
                f"{self.path} holds the results of another run: choose another hydra.run.dir, or delete it."
            )
        wrong = damage(self.path) if kept == self.cell else "DONE is damaged"
        if wrong is None and has_gaps(self.path):
            wrong = "memory ran out at a length"
        if wrong is not None and is_rank_zero():
            print(f"In {self.path} {wrong}: it is evaluated again.", flush=True)
        return wrong is None

    def write(
        self,
        rows: list[Row],
        scores: dict[str, np.ndarray],
        about: Mapping[str, object],
        files: Sequence[Path],
    ) -> None:
        """Write all of the results, and files that stay, first the weights that were evaluated."""
        for old in (DONE, RESULTS):
            (self.path / old).unlink(missing_ok=True)
        with atomic_write(self.path / DOCUMENTS) as out:
            np.savez_compressed(out, **scores)  # type: ignore[arg-type]  # takes any names
        with atomic_write(self.path / RUN) as out:
            out.write(json.dumps(about, indent=1).encode())
        link(files[0], self.path / "final.ckpt")
        for kept in files[1:]:
            link(kept, self.path / kept.name)
        append(self.path / RESULTS, rows)


def link(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it where the file system has no links."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
