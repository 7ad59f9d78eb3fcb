"""The run folder: results.jsonl, documents.npz, run.json, the checkpoint, and DONE, written last."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from train.rows import Row, append, read


class Folder:
    """Where a run leaves its results."""

    def __init__(self, path: Path, cell: str) -> None:
        self.path, self.cell = path, cell

    def is_done(self) -> bool:
        """Whether this very run was finished here; another one is not overwritten."""
        done = self.path / "DONE"
        if not done.exists():
            return False
        if done.read_text().strip() != self.cell:
            raise ValueError(
                f"{self.path} holds the results of another run: choose another hydra.run.dir, or delete it."
            )
        read(self.path / "results.jsonl")  # says where it is damaged
        return True

    def write(
        self, rows: list[Row], documents: dict[str, np.ndarray], about: dict[str, Any], checkpoint: Path
    ) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(self.path / "documents.npz", **documents)  # type: ignore[arg-type]
        (self.path / "run.json").write_text(json.dumps(about, indent=1, default=str))
        link(checkpoint, self.path / "final.ckpt")
        (self.path / "results.jsonl").unlink(missing_ok=True)  # of a run that did not finish
        append(self.path / "results.jsonl", rows)

    def finish(self) -> None:
        aside = self.path / "DONE.part"
        aside.write_text(self.cell + "\n")
        os.replace(aside, self.path / "DONE")


def link(source: Path, target: Path) -> None:
    """The same file under a second name, or a copy where the file system has no links."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
