"""Where archived rows come from: committed code that anybody can check out, and data that a digest names."""

import re
import subprocess
from collections.abc import Iterable, Sequence

from conf.errors import UsageError
from sweeps.results import FinishedRun
from train.paths import ROOT

TOKENIZERS = r"of [\d,]+ tokens|; bytes;|problems of length"  # tasks have symbols of their own


def check_provenance(runs: Iterable[FinishedRun]) -> None:
    """Raise UsageError, with the first run and the number of all, if runs do not say where they come from."""
    commits = history()
    faults = {run.folder.name: fault for run in runs if (fault := fault_of(run, commits))}
    for name, fault in faults.items():
        others = f", and {len(faults) - 1} more runs are like it" if len(faults) > 1 else ""
        raise UsageError(f"{name} {fault}{others}: commit all changes, delete these runs, and run again.")


def fault_of(run: FinishedRun, commits: Sequence[str]) -> str | None:
    """Return what a run does not say about its code or its data."""
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


def history() -> list[str]:
    """Return the commits of the present branch."""
    line = ["git", "rev-list", "HEAD"]
    try:
        found = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        raise UsageError("There is no git history: archive from a clone of the repository.") from None
    return found
