"""The run folder: results.jsonl, documents.npz, run.json, the checkpoint, and DONE, written last."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from train.rows import Row, append, read

if TYPE_CHECKING:
    import numpy as np  # not for the parent of a sweep, which only asks what is done


def is_done(folder: Path, cell: str) -> bool:
    """Whether a folder holds this very run, finished."""
    done = folder / "DONE"
    return done.exists() and done.read_text().strip() == cell


class Folder:
    """Where a run leaves its results."""

    def __init__(self, path: Path, cell: str) -> None:
        self.path, self.cell = path, cell

    def is_done(self) -> bool:
        """Whether this very run was finished here; another one is not overwritten."""
        if not (self.path / "DONE").exists():
            return False
        if not is_done(self.path, self.cell):
            raise ValueError(
                f"{self.path} holds the results of another run: choose another hydra.run.dir, or delete it."
            )
        read(self.path / "results.jsonl")  # an error where it is damaged
        return True

    def write(
        self,
        rows: list[Row],
        scores: dict[str, "np.ndarray"],
        about: Mapping[str, object],
        checkpoints: Sequence[Path],
    ) -> None:
        """Everything but `DONE`; the first checkpoint is the one that was evaluated."""
        import numpy as np

        self.path.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(self.path / "documents.npz", **scores)  # type: ignore[arg-type]
        (self.path / "run.json").write_text(json.dumps(about, indent=1))
        link(checkpoints[0], self.path / "final.ckpt")
        for kept in checkpoints[1:]:
            link(kept, self.path / kept.name)
        (self.path / "results.jsonl").unlink(missing_ok=True)  # of a run that did not finish
        append(self.path / "results.jsonl", rows)

    def finish(self) -> None:
        part = self.path / "DONE.part"
        part.write_text(self.cell + "\n")
        os.replace(part, self.path / "DONE")


def link(source: Path, target: Path) -> None:
    """The same file under a second name, or a copy where the file system has no links."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
