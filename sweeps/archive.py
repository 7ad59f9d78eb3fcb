"""The results of a sweep as three small Parquet files, to be kept beside the code without checkpoints.

python -m sweeps.study archive outputs/sweeps/study docs/study      # add its finished runs
python -m sweeps.study unarchive docs/study outputs/sweeps/study    # back to run folders; none is run again

Archived rows come from committed code that anybody can check out, and from data that a digest names.
"""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps.results import load_readable
from sweeps.runs import ROWS, RUNS, SCORES, FinishedRun, archived_runs
from train.paths import ROOT
from train.results import run_folder
from train.results.rows import write_rows

TASKS = "problems of length|instructions ignored|queries of words|pairs of|chains of"  # own symbols
TOKENIZERS = rf"of [\d,]+ tokens|; bytes;|{TASKS}"


def pack(folder: Path, archive: Path) -> int:
    """Add every finished run of a sweep to an archive; return the number of its runs. Raise UsageError if a
    run does not name its code and its data."""
    runs = [run for run in load_readable(folder).runs if (run.folder / run_folder.DONE).exists()]
    if not runs:
        raise UsageError(f"There is no finished run in {folder}: nothing to archive.")
    check_provenance(runs)
    names = Counter(run.folder.name for run in runs)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(f"{folder} has several runs called {twice[0]}: archive one folder after the other.")
    tables = {
        ROWS: [asdict(row) | {"run": run.folder.name} for run in runs for row in run.rows],
        SCORES: [score for run in runs for score in score_records(run)],
        RUNS: list(map(run_record, runs)),
    }
    archive.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:  # all are replaced, or none
        for name, records in tables.items():
            whole = merged_rows(pd.DataFrame(records), archive / name)
            out = files.enter_context(run_folder.atomic_write(archive / name))
            whole.to_parquet(out, compression="zstd", index=False)
            out.flush()
    return whole["run"].nunique()


def merged_rows(new: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Return the rows of a file and new ones, in place of older rows of the same runs."""
    if file.exists():
        old = pd.read_parquet(file)
        new = pd.concat([old[~old["run"].isin(new["run"])], new], ignore_index=True)
    return new.sort_values("run", kind="stable", ignore_index=True)


def score_records(run: FinishedRun) -> Iterator[dict[str, object]]:
    """Yield the scores of all windows or problems, by name, in float32."""
    for name, values in run.documents.items():
        whole = values.dtype.kind in "iu"  # numbers of documents, not scores
        scores = values.astype(np.float32).tolist()
        yield {"run": run.folder.name, "name": name, "whole": whole, "scores": scores}


def run_record(run: FinishedRun) -> dict[str, str]:
    """Return the name, the id and the run.json of a run."""
    about = portable(run.about.model_dump(mode="json", exclude_unset=True))
    text = json.dumps(about, separators=(",", ":"))
    return {"run": run.folder.name, "id": str(run_folder.finished_id(run.folder)), "about": text}


def portable(value: Any) -> Any:
    """Remove what holds on one machine only: absolute paths, and arguments that contain them."""
    if isinstance(value, dict):
        return {key: portable(part) for key, part in value.items() if not str(part).startswith("/")}
    if isinstance(value, str) and "=/" in value:
        return " ".join(word for word in value.split() if "=/" not in word)
    return value


def unpack(archive: Path, folder: Path) -> int:
    """Write the run folders of an archive, without checkpoints and finished runs; return their number."""
    runs = list(archived_runs(archive))
    ids = pd.read_parquet(archive / RUNS).set_index("run")["id"]
    for run in runs:
        place = folder / run.folder.name
        if (place / run_folder.DONE).exists():
            continue
        place.mkdir(parents=True, exist_ok=True)
        run_folder.write_whole(place / run_folder.RUN, run.about.model_dump_json(exclude_unset=True))
        write_rows(place / run_folder.RESULTS, run.rows)
        run_folder.write_arrays(place / run_folder.DOCUMENTS, run.documents)
        run_folder.write_done(place, ids[run.folder.name])
    return len(runs)


def check_provenance(runs: Iterable[FinishedRun]) -> None:
    """Raise UsageError, with the first run and the number of all, if runs do not name their code and data."""
    commits = commits_of_branch()
    faults = {run.folder.name: fault for run in runs if (fault := provenance_fault(run, commits))}
    for name, fault in faults.items():
        others = f", and {len(faults) - 1} more runs are like it" if len(faults) > 1 else ""
        raise UsageError(f"{name} {fault}{others}: commit all changes, delete these runs, and run again.")


def provenance_fault(run: FinishedRun, commits: Sequence[str]) -> str | None:
    """Return what a run does not tell about its code or its data."""
    about, commit = run.about, run.about.commit
    if commit.endswith("+"):
        return "comes from code with changes that were not committed"
    if not commit or not any(known.startswith(commit) for known in commits):
        return f"comes from commit {commit or 'unknown'}, which is not in the history of this repository"
    if not re.fullmatch("[0-9a-f]{64}", about.corpus):
        return "does not name its corpus by a sha256"
    if not re.search(TOKENIZERS, about.corpus_description):
        return "does not name its tokenizer"
    return None


def commits_of_branch() -> list[str]:
    line = ["git", "rev-list", "HEAD"]
    try:
        return subprocess.check_output(line, cwd=ROOT, encoding="utf-8", stderr=subprocess.DEVNULL).split()
    except (OSError, subprocess.CalledProcessError):
        raise UsageError("There is no git history: archive from a clone of the repository.") from None
