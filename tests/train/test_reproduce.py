"""A run repeated: equal bit for bit on this machine, or with its differences named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.composing import composed
from tests.train.conftest import call
from train.reproduce import differences, repeated_settings
from train.results.about import About
from train.results.rows import read_rows
from train.results.run_folder import finished_id, write_done

pytestmark = pytest.mark.slow
Mistake = Callable[..., str]


def test_the_same_rows_again(done: Path, tmp_path: Path) -> None:
    printed = call(f"run={done}", f"into={tmp_path}", module="train.reproduce")
    assert "All rows are equal, bit for bit." in printed.stdout
    assert "Machine and versions are the same." in printed.stdout
    assert (tmp_path / "rope" / "DONE").exists()
    assert list((tmp_path / "trained").iterdir())  # nothing of the run itself was used


def test_a_changed_row_and_another_machine(done: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(done, tmp_path / "rope")
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    row = next(row for row in rows if (row["extension"], row["metric"]) == ("pi", "loss"))
    value, row["value"] = row["value"], 1.5
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    about = json.loads((folder / "run.json").read_text())
    about["machine"] = "another one"
    about["trained_with"]["threads"] = 2  # a sweep with threads to spare trained it
    about["code"]["evaluation"] = "other"
    (folder / "run.json").write_text(json.dumps(about))
    write_done(folder, str(finished_id(folder)))  # as if it had been written so
    printed = call(f"run={folder}", module="train.reproduce", check=False)
    assert printed.returncode == 1
    lines = printed.stdout.splitlines()
    (differing,) = [line.split() for line in lines if "1.5" in line]
    assert [float(number) for number in differing[-2:]] == pytest.approx([1.5, value], abs=1e-5)
    assert any(line.startswith("machine: another one was, ") for line in lines)
    assert any("threads=2" in line for line in lines if line.startswith("trained_with: "))
    assert any("other" in line for line in lines if line.startswith("code: "))


def test_damage_is_reported_before_anything_is_trained(done: Path, tmp_path: Path, mistake: Mistake) -> None:
    folder = shutil.copytree(done, tmp_path / "rope")
    (folder / "results.jsonl").write_text("")
    sentence = mistake(f"run={folder}", f"into={tmp_path}/again", module="train.reproduce")
    assert sentence == f"yardstick: In {folder} results.jsonl is not what was written: run it again."
    assert not (tmp_path / "again").exists()


def test_nothing_is_written_where_the_run_wrote(tmp_path: Path) -> None:
    """A run.json of anybody may name any place for logs and checkpoints."""
    config = composed("logger=csv", "callbacks=model_checkpoint", "outputs=/elsewhere", "encoding=alibi")
    settings = config.model_dump(mode="json")
    settings["callbacks"]["mine"] = {"_target_": "mine.Callback"}  # may change the training
    about = About.model_construct(settings=settings, threads=1, precision="32-true")
    again = repeated_settings(about, tmp_path)
    assert "/elsewhere" not in str(again)
    assert again.callbacks == {"mine": {"_target_": "mine.Callback"}}


def test_rows_that_only_one_has(done: Path) -> None:
    rows = read_rows(done / "results.jsonl")
    assert differences(rows, rows).empty
    found = differences(rows, [row for row in rows if row.metric != "loss"])
    assert len(found) == sum(row.metric == "loss" for row in rows)
    assert found["value"]["is"].isna().all()
