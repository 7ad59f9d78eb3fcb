"""The results of a sweep as three small Parquet files, to be kept beside the code without checkpoints.

python -m sweeps.archive outputs/sweeps/study docs/study            # add its finished runs
python -m sweeps.archive --unpack docs/study outputs/sweeps/study   # back to run folders; none is run again
"""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps import command
from sweeps.results import run_folders
from train.results.about import about_run
from train.results.done import DONE, finish, finished
from train.results.rows import Row, append, read_rows

ROWS, SCORES, RUNS = "rows.parquet", "scores.parquet", "runs.parquet"


def pack(folder: Path, archive: Path) -> int:
    """Add every finished run below `folder` to the archive; how many runs the archive has then."""
    places = sorted(place for place in run_folders(folder) if (place / DONE).exists())
    if not places:
        raise UsageError(f"There is no finished run in {folder}: nothing to archive.")
    archive.mkdir(parents=True, exist_ok=True)
    rows = pd.DataFrame([asdict(row) for place in places for row in read_rows(place / "results.jsonl")])
    add(rows, archive / ROWS)
    add(pd.DataFrame([score for place in places for score in saved_scores(place)]), archive / SCORES)
    return add(pd.DataFrame([facts(place) for place in places]), archive / RUNS)


def add(new: pd.DataFrame, file: Path) -> int:
    """Append the rows of new runs to a file, replacing those of runs that it had; how many runs it has."""
    if file.exists():
        old = pd.read_parquet(file)
        new = pd.concat([old[~old["run"].isin(new["run"])], new], ignore_index=True)
    new = new.sort_values("run", kind="stable", ignore_index=True)
    aside = file.with_suffix(".part")
    new.to_parquet(aside, compression="zstd", index=False)
    aside.replace(file)
    return new["run"].nunique()


def saved_scores(place: Path) -> Iterator[dict[str, object]]:
    """Yield the content of `documents.npz`: a name and the scores of all windows or problems, in float32."""
    with np.load(place / "documents.npz") as content:
        for name, values in content.items():
            whole = values.dtype.kind in "iu"  # numbers of documents, not scores
            scores = values.astype(np.float32).tolist()
            yield {"run": place.name, "name": name, "whole": whole, "scores": scores}


def facts(place: Path) -> dict[str, str]:
    """Return what identifies a run: its id, and run.json."""
    about = portable(about_run(place).model_dump(mode="json", exclude_unset=True))
    return {
        "run": place.name,
        "cell": str(finished(place)),
        "about": json.dumps(about, separators=(",", ":")),
    }


def portable(value: Any) -> Any:
    """Without what holds on one machine only: absolute paths, and arguments of a command that give them."""
    if isinstance(value, dict):
        return {key: portable(part) for key, part in value.items() if not str(part).startswith("/")}
    if isinstance(value, str) and "=/" in value:
        return " ".join(word for word in value.split() if "=/" not in word)
    return value


def unpack(archive: Path, folder: Path) -> list[Path]:
    """Write the run folders of an archive, without checkpoints; those that are there stay as they are."""
    if not (archive / ROWS).is_file():
        raise FileNotFoundError(f"There is no archive in {archive}: no {ROWS}.")
    rows, saved = pd.read_parquet(archive / ROWS), pd.read_parquet(archive / SCORES)
    made = []
    for run, cell, about in pd.read_parquet(archive / RUNS)[["run", "cell", "about"]].itertuples(index=False):
        place = folder / run
        made.append(place)
        if (place / DONE).exists():
            continue
        place.mkdir(parents=True, exist_ok=True)
        (place / "run.json").write_text(about)
        (place / "results.jsonl").unlink(missing_ok=True)
        run_rows = rows[rows["run"] == run].astype(object)
        records = run_rows.where(run_rows.notna(), None).to_dict("records")
        append(place / "results.jsonl", (Row(**record) for record in records))
        kept = saved[saved["run"] == run][["name", "whole", "scores"]].itertuples(index=False)
        arrays = {name: np.asarray(values, np.int64 if whole else np.float64) for name, whole, values in kept}
        np.savez_compressed(place / "documents.npz", **arrays)  # type: ignore[arg-type]  # takes any names
        finish(place, cell)
    return made


@contextmanager
def unpacked(folder: Path) -> Iterator[Path]:
    """Return the folder itself, or for an archive a temporary folder with its runs."""
    if not (folder / ROWS).exists():
        yield folder
        return
    with TemporaryDirectory() as place:
        unpack(folder, Path(place))
        yield Path(place)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.archive", description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--unpack", action="store_true", help="from an archive to run folders")
    options = parser.parse_args()
    source, target = options.source, options.target
    runs = len(unpack(source, target)) if options.unpack else pack(source, target)
    print(f"{runs} runs are in {target}.")


if __name__ == "__main__":
    command(main)
