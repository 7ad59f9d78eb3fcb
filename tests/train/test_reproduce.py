"""A run made again: equal bit for bit here, and what differs where something does."""

import json
import shutil
from pathlib import Path

import pytest

from tests.train.conftest import call
from train.reproduce import compare_rows
from train.results.done import finish, finished
from train.results.rows import Row, read_rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def done(small: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "rope"
    call("encoding=rope", *small, "evaluation.extensions=[pi]", f"hydra.run.dir={folder}")
    return folder


def test_the_same_rows_again(done: Path, tmp_path: Path) -> None:
    said = call(f"run={done}", f"into={tmp_path}", module="train.reproduce")
    compared = len(
        [row for row in read_rows(done / "results.jsonl") if row.metric in ("loss", "bits_per_byte")]
    )
    assert f"All {compared + 2} rows are equal, bit for bit." in said.stdout  # and two numbers of parameters
    assert "Machine and versions are the same." in said.stdout
    assert (tmp_path / "rope" / "DONE").exists()
    assert list((tmp_path / "trained").iterdir())  # nothing of the run itself was used


def test_a_changed_row_and_another_machine(done: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(done, tmp_path / "rope")
    lines = (folder / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    place = next(n for n, row in enumerate(rows) if (row["extension"], row["metric"]) == ("pi", "loss"))
    rows[place]["value"] *= 1.01
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    about = json.loads((folder / "run.json").read_text())
    about["machine"] = about["trained_with"]["machine"] = "another one"
    about["code"]["evaluation"] = "other"
    (folder / "run.json").write_text(json.dumps(about))
    finish(folder, str(finished(folder)))  # as if it had been written so
    said = call(f"run={folder}", module="train.reproduce", check=False)
    assert said.returncode == 1
    assert "1 of " in said.stdout
    assert f"(pi {rows[place]['protocol']} {rows[place]['length']}), 0.0099 of the value" in said.stdout
    assert "The machine was another one, and is " in said.stdout
    assert "The code of its evaluation was edited since." in said.stdout
    assert said.stdout.count("was edited since.") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run=/nowhere"], "/nowhere is not the folder of a finished run"),
        ([], "run must be given"),
        (["rum=x", "run=y"], "There is no setting 'rum'. Did you mean 'run'?"),
    ],
)
def test_mistakes(arguments: list[str], expected: str, mistake) -> None:
    assert expected in mistake(*arguments, module="train.reproduce")


def test_damage_is_told_before_anything_is_trained(done: Path, tmp_path: Path, mistake) -> None:
    folder = shutil.copytree(done, tmp_path / "rope")
    (folder / "results.jsonl").write_text("")
    said = mistake(f"run={folder}", f"into={tmp_path}/again", module="train.reproduce")
    assert said == f"yardstick: In {folder} results.jsonl is not what was written: run it again."
    assert not (tmp_path / "again").exists()


def test_a_run_that_does_not_say_its_threads(done: Path, tmp_path: Path, mistake) -> None:
    """As those of older versions."""
    folder = shutil.copytree(done, tmp_path / "rope")
    about = json.loads((folder / "run.json").read_text())
    del about["threads"]
    (folder / "run.json").write_text(json.dumps(about))
    finish(folder, str(finished(folder)))
    said = mistake(f"run={folder}", module="train.reproduce")
    assert said == "yardstick: rope does not say with how many threads it ran: run it again first."


def test_other_threads_are_told(done: Path) -> None:
    said = call(f"run={done}", "threads=2", module="train.reproduce", check=False).stdout
    assert "The number of threads was 1, and is 2." in said


def test_weights_that_others_trained_are_told(small: list[str], tmp_path: Path) -> None:
    """A sweep with threads to spare trained them, and this run found them there."""
    run = ["encoding=rope", *small, "evaluation.extensions=[]", f"outputs={tmp_path}/o"]
    call(*run, "trainer.threads=2", f"hydra.run.dir={tmp_path}/two")
    call(*run, f"hydra.run.dir={tmp_path}/one")
    said = call(f"run={tmp_path}/one", module="train.reproduce", check=False).stdout
    assert "The number of threads was 1 (2 in training), and is 1." in said
    assert "machine" not in said


def test_rows_that_only_one_has(done: Path) -> None:
    rows: list[Row] = read_rows(done / "results.jsonl")
    found = compare_rows(rows, [row for row in rows if row.metric != "loss"], [])
    assert not found.differences
    assert {key[-1] for key in found.unpaired} == {"loss"}
    assert not found.is_equal
