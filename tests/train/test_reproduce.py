"""A run repeated: equal bit for bit on this machine, or with its differences named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.conftest import call
from train.reproduce import compare_rows
from train.results.done import finish, finished_id
from train.results.rows import Row, read_rows

pytestmark = pytest.mark.slow
Mistake = Callable[..., str]


def test_the_same_rows_again(done: Path, tmp_path: Path) -> None:
    printed = call(f"run={done}", f"into={tmp_path}", module="train.reproduce")
    compared = [row for row in read_rows(done / "results.jsonl") if row.metric in ("loss", "bits_per_byte")]
    assert f"All {len(compared) + 2} rows are equal, bit for bit." in printed.stdout  # two count parameters
    assert "Machine and versions are the same." in printed.stdout
    assert (tmp_path / "rope" / "DONE").exists()
    assert list((tmp_path / "trained").iterdir())  # nothing of the run itself was used


def test_a_changed_row_and_another_machine(done: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(done, tmp_path / "rope")
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    row = next(row for row in rows if (row["extension"], row["metric"]) == ("pi", "loss"))
    row["value"] *= 1.01
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    about = json.loads((folder / "run.json").read_text())
    about["machine"] = about["trained_with"]["machine"] = "another one"
    about["trained_with"]["threads"] = 2  # a sweep with threads to spare trained it
    about["code"]["evaluation"] = "other"
    (folder / "run.json").write_text(json.dumps(about))
    finish(folder, str(finished_id(folder)))  # as if it had been written so
    printed = call(f"run={folder}", module="train.reproduce", check=False)
    assert printed.returncode == 1
    assert "1 of " in printed.stdout
    assert f"(pi {row['protocol']} {row['length']}), 0.0099 of the value" in printed.stdout
    assert "The machine was another one, and is " in printed.stdout
    assert "The number of threads was 1 (2 in training), and is 1." in printed.stdout
    assert "The code of its evaluation was edited since." in printed.stdout
    assert printed.stdout.count("was edited since.") == 1


def test_damage_is_reported_before_anything_is_trained(done: Path, tmp_path: Path, mistake: Mistake) -> None:
    folder = shutil.copytree(done, tmp_path / "rope")
    (folder / "results.jsonl").write_text("")
    sentence = mistake(f"run={folder}", f"into={tmp_path}/again", module="train.reproduce")
    assert sentence == f"yardstick: In {folder} results.jsonl is not what was written: run it again."
    assert not (tmp_path / "again").exists()


def test_rows_that_only_one_has(done: Path) -> None:
    rows: list[Row] = read_rows(done / "results.jsonl")
    found = compare_rows(rows, [row for row in rows if row.metric != "loss"], [])
    assert not found.differences
    assert {key[-1] for key in found.unpaired} == {"loss"}
    assert not found.is_equal
