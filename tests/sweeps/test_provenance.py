"""Archived rows come from committed code and named data, and each metric has one definition."""

import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from conf.errors import UsageError
from sweeps.archive import check_provenance, commits_of_branch, provenance_fault
from sweeps.results import load_sweep
from sweeps.runs import FinishedRun
from train.paths import ROOT

ARCHIVES = sorted(file.parent for file in (ROOT / "docs/study").rglob("rows.parquet"))
HELD_OUT = re.compile(r"held out: .*? ([\d.]+) MB, ([\d,]+) tokens")


@pytest.fixture(scope="module")
def runs() -> list[FinishedRun]:
    return [run for archive in ARCHIVES for run in load_sweep(archive).runs]


def test_every_archived_run_says_where_it_comes_from(runs: list[FinishedRun]) -> None:
    commits = commits_of_branch()
    assert len(ARCHIVES) > 10
    assert {run.folder: fault for run in runs if (fault := provenance_fault(run, commits))} == {}


def test_bits_per_byte_count_the_bytes_of_the_scored_targets(runs: list[FinishedRun]) -> None:
    """The bytes of an average held-out token, of all that there are, are another definition."""
    for run in runs:
        losses = {
            (row.extension, row.protocol, row.length): row.value for row in run.rows if row.metric == "loss"
        }
        if not (found := HELD_OUT.search(run.about.corpus_description)):
            continue
        average = float(found[1]) * 1e6 / float(found[2].replace(",", ""))
        for row in run.rows:
            loss = losses.get((row.extension, row.protocol, row.length))
            if row.metric == "bits_per_byte" and row.value and loss:
                assert loss / math.log(2) / row.value != pytest.approx(average, rel=1e-3), run.folder


def test_the_sliding_protocol_has_one_stride(runs: list[FinishedRun]) -> None:
    """A crop had 1/8 of the length, then 1/16, then less below 256 tokens. Larger strides raise its loss."""
    fine, finer = (commits_since(commit) for commit in ("a8c445a5", "b96ac47b"))
    sliding = [run for run in runs if any(row.protocol == "sliding" for row in run.rows)]
    allowed = [finer if run.rows[0].trained_length < 256 else fine for run in sliding]
    assert len(sliding) > 100
    coarse = [
        run.folder for run, commits in zip(sliding, allowed, strict=True) if run.about.commit not in commits
    ]
    assert coarse == []


def commits_since(commit: str) -> set[str]:
    """Return the abbreviated names of a commit and of those that follow it."""
    line = ["git", "rev-list", "--abbrev-commit", "--abbrev=12", f"{commit}^..HEAD"]
    return {*subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"commit": "{commit}+"}, "changes that were not committed"),
        ({"commit": "0123456789ab"}, "not in the history"),
        ({"commit": ""}, "commit unknown"),
        ({"corpus": "shakespeare"}, "does not name its corpus"),
        ({"corpus_description": "some text"}, "does not name its tokenizer"),
    ],
)
def test_a_run_of_unknown_origin_is_refused(
    change: dict[str, str], fault: str, runs: list[FinishedRun]
) -> None:
    run = runs[0]
    update = {key: value.format(commit=run.about.commit) for key, value in change.items()}
    other = replace(run, folder=Path("rope-s0"), about=run.about.model_copy(update=update))
    check_provenance([run])
    with pytest.raises(UsageError, match=f"^rope-s0 .*{fault}.*, and 1 more runs"):
        check_provenance([run, other, replace(other, folder=Path("rope-s1"))])
