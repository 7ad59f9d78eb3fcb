"""One run from the command line: complete, resumable, the same on any number of processes."""

import json
import os
import re
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import train.run
from tests.composing import composed, run_here
from tests.harm import flip
from tests.processes import start
from tests.train.conftest import call, command, run_together
from train.evaluation.text import TextEvaluator, TextPart
from train.results.rows import Row, read_rows
from train.run import reading
from train.runtime import machine

pytestmark = pytest.mark.slow


def losses(folder: Path) -> dict[tuple[str, str, int], float | None]:
    rows = read_rows(folder / "results.jsonl")
    return {(r.extension, r.protocol, r.length): r.value for r in rows if r.metric == "loss"}


def close(first: Path, second: Path, tolerance: float) -> None:
    a, b = losses(first), losses(second)
    assert a.keys() == b.keys()
    for key, value in a.items():
        assert value == b[key] or value == pytest.approx(b[key], abs=tolerance), key


def test_rows_are_complete(done: Path) -> None:
    rows = read_rows(done / "results.jsonl")
    files = {"results.jsonl", "DONE", "run.json", "documents.npz", "final.ckpt"}
    assert files <= {file.name for file in done.iterdir()}
    for extension in ("none", "pi", "crop"):
        for length in (16, 32, 64):
            (row,) = find(rows, extension=extension, length=length, protocol="same_tokens", metric="loss")
            assert (row.encoding, row.trained_length) == ("rope", 16)
            assert 0 < (row.value or 0) < 7
            assert row.error is not None
    costs = ("tokens_per_second", "parameters", "encoding_parameters", "seconds", "peak_memory")
    for metric in ("loss", *costs):
        assert find(rows, protocol="training", metric=metric)[0].value is not None
    about = json.loads((done / "run.json").read_text())
    assert about["settings"]["names"]["encoding"] == "rope"
    assert about["command"].startswith("yardstick train encoding=rope")
    tokens = re.search(r"training: .* ([\d,]+) tokens;", about["corpus_description"])
    assert tokens
    settings = about["settings"]
    drawn = settings["trainer"]["max_steps"] * settings["batch"] * settings["model"]["length"]
    assert about["passes"] == pytest.approx(drawn / int(tokens[1].replace(",", "")), rel=0.01)


def test_the_commit_is_that_of_the_start(
    small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = iter(("at the start", "made while it trains"))
    monkeypatch.setattr(train.run, "commit", lambda: next(commits))
    fit = train.run.load_or_train

    def fit_beside_a_commit(*arguments: Any) -> Any:
        trained = fit(*arguments)
        assert next(commits) == "made while it trains"
        return trained

    monkeypatch.setattr(train.run, "load_or_train", fit_beside_a_commit)
    run_here(composed("encoding=nope", *small, "trainer.max_steps=2"), tmp_path / "run")
    assert {row.commit for row in read_rows(tmp_path / "run/results.jsonl")} == {"at the start"}


def test_many_passes_over_the_text_are_a_warning() -> None:
    assert reading(0.5) == "The training reads its text 0.50 times."
    assert reading(58).startswith("Warning: the training reads its text 58.00 times, so that it may learn")


def test_passes_count_what_a_fine_tuning_reads(small: list[str], tmp_path: Path) -> None:
    steps = ["encoding=rope", *small, "trainer.max_steps=2", "extension=pi", "evaluation.windows=2"]
    for tuned in (0, 6):
        run_here(composed(*steps, f"extension.finetune_steps={tuned}"), tmp_path / str(tuned))
    few, many = (json.loads((tmp_path / name / "run.json").read_text())["passes"] for name in ("0", "6"))
    assert many == pytest.approx(4 * few)


def find(rows: list[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(getattr(row, key) == value for key, value in wanted.items())]


def test_a_second_call_does_nothing_even_where_nothing_can_be_written(
    done: Path, small: list[str], tmp_path: Path
) -> None:
    folder = shutil.copytree(done, tmp_path / done.name)
    (folder / ".lock").unlink()
    (folder / ".lock").mkdir()  # even root cannot open it
    before = (folder / "results.jsonl").stat().st_mtime_ns
    again = call("encoding=rope", *small, "evaluation.extensions=[pi,crop]", f"hydra.run.dir={folder}")
    assert "done already" in again.stdout
    assert (folder / "results.jsonl").stat().st_mtime_ns == before


def test_what_is_missing_of_a_run_is_made_again(done: Path, small: list[str], tmp_path: Path) -> None:
    """It needs no training; if several commands start together, one does the work while the others wait."""
    folder, rows = tmp_path / "rope", read_rows(done / "results.jsonl")
    shutil.copytree(done, folder)
    (folder / "results.jsonl").unlink()
    run = ["encoding=rope", *small, "evaluation.extensions=[pi,crop]", f"hydra.run.dir={folder}"]
    with ThreadPoolExecutor() as pool:
        outputs = [ended.stdout for ended in pool.map(lambda _: call(*run), range(2))]
    assert sum(f"In {folder} results.jsonl is missing: it is evaluated again." in out for out in outputs) == 1
    assert sum("is done already" in out for out in outputs) == 1
    assert not any("step " in out for out in outputs)
    assert len(read_rows(folder / "results.jsonl")) == len(rows)


def test_damaged_weights_are_trained_again(
    small: list[str], done: Path, outputs: Path, tmp_path: Path
) -> None:
    shutil.copytree(outputs, tmp_path / "o")
    training = json.loads((done / "run.json").read_text())["training"]
    (weights,) = tmp_path.glob(f"o/trained/rope-*-{training}/final.ckpt")
    flip(weights, weights.stat().st_size // 2)
    flip(shutil.copytree(done, tmp_path / "damaged") / "final.ckpt", at=3)
    refused = call(f"run={tmp_path}/damaged", module="train.evaluate", check=False)
    assert "final.ckpt is not what was written: run it again." in refused.stderr
    run = ["encoding=rope", *small, f"outputs={tmp_path}/o", f"hydra.run.dir={tmp_path}/run"]
    assert "is trained again, for final.ckpt." in call(*run, "evaluation.extensions=[pi,crop]").stdout
    close(done, tmp_path / "run", 0)


def test_another_extension_finds_the_training(
    done: Path, small: list[str], outputs: Path, tmp_path: Path
) -> None:
    trained = sorted((outputs / "trained").glob("rope-*"))
    yarn = ["extension=yarn", "extension.factor=4", "trainer.threads=2"]
    call("encoding=rope", *yarn, *small, f"hydra.run.dir={tmp_path}")
    assert json.loads((tmp_path / "run.json").read_text())["trained_with"]["threads"] == 1
    assert sorted((outputs / "trained").glob("rope-*")) == trained
    assert {key[0] for key in losses(tmp_path)} == {"none", "yarn"}
    assert losses(tmp_path)["none", "same_tokens", 64] == pytest.approx(
        losses(done)["none", "same_tokens", 64]
    )


def test_processes_evaluate_as_one(done: Path, outputs: Path, tmp_path: Path) -> None:
    wanted = ["evaluation=protocols", "evaluation.extensions=[yarn]", "evaluation.ladder=[1,2,4]"]
    wanted += ["evaluation.windows=5", f"run={done}", f"outputs={outputs}", "trainer=cpu"]
    call(*wanted, f"hydra.run.dir={tmp_path}/one", module="train.evaluate")
    run_together(tmp_path, 3, *wanted, f"hydra.run.dir={tmp_path}/several", module="train.evaluate")
    close(tmp_path / "one", tmp_path / "several", 1e-6)


def test_two_processes_train_on_masked_words_as_one(small: list[str], tmp_path: Path) -> None:
    asked = ["encoding=alibi", "objective=mlm", "model.causal=false", *small]
    call(*asked, f"outputs={tmp_path}/o1", f"hydra.run.dir={tmp_path}/1")
    run_together(tmp_path, 2, *asked, f"outputs={tmp_path}/o2", f"hydra.run.dir={tmp_path}/2")
    assert losses(tmp_path / "1")["none", "same_tokens", 64] is not None
    close(tmp_path / "1", tmp_path / "2", 1e-5)


def test_a_killed_training_goes_on_as_if_never_stopped(small: list[str], tmp_path: Path) -> None:
    """After kill -9 in the middle, the same command ends with the same numbers."""
    longer = [*small, "encoding=randomized_rope", "encoding.span=128"]
    longer += ["trainer.max_steps=150", "trainer.checkpoint_every=10"]
    run = [*longer, f"outputs={tmp_path}/o", f"hydra.run.dir={tmp_path}/run"]
    process = start(tmp_path, command, "train.__main__", tuple(run))
    while not list(tmp_path.glob("o/trained/*/last.ckpt")):
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.05)
        assert process.is_alive()
        os.kill(process.pid, signal.SIGSTOP)
    process.kill()
    process.join()
    assert not (tmp_path / "run" / "DONE").exists()
    assert not list(tmp_path.glob("o/trained/*/final.ckpt"))
    assert "Resuming" in call(*run).stdout
    call(*longer, f"outputs={tmp_path}/o2", f"hydra.run.dir={tmp_path}/whole")
    close(tmp_path / "run", tmp_path / "whole", 1e-6)


def test_kept_weights_are_evaluated(small: list[str], done: Path, tmp_path: Path) -> None:
    """Keeping the weights changes nothing else."""
    folder, same = tmp_path / "rope", [f"outputs={tmp_path}/o", "evaluation.extensions=[pi,crop]"]
    call("encoding=rope", *small, *same, "trainer.keep=[0.3,0.67]", f"hydra.run.dir={folder}")
    assert {file.name for file in folder.glob("*.ckpt")} == {"final.ckpt", "step-2.ckpt", "step-4.ckpt"}
    close(folder, done, 0)
    call(f"run={folder}", "checkpoint=0.67", "trainer=cpu", f"outputs={tmp_path}/o", module="train.evaluate")
    (evaluation,) = (folder / "evaluations").iterdir()
    assert evaluation.name.startswith("rope@0.67-")
    rows = read_rows(evaluation / "results.jsonl")
    assert find(rows, protocol="training", metric="loss")[0].value is not None
    assert losses(evaluation)["none", "same_tokens", 16] != losses(done)["none", "same_tokens", 16]


def test_fine_tuning_under_an_extension(small: list[str], tmp_path: Path) -> None:
    tuned = ["extension=pi", "extension.finetune_steps=3", "extension.finetune_length=32"]
    run_here(composed("encoding=rope", *small, *tuned), tmp_path)
    assert {key[0] for key in losses(tmp_path)} == {"none", "pi+3"}


def test_a_compiled_model_trains_the_same(small: list[str], done: Path, tmp_path: Path) -> None:
    call(
        "encoding=rope",
        *small,
        "trainer.compile=true",
        f"outputs={tmp_path}",
        f"hydra.run.dir={tmp_path}/run",
    )
    for key in (("none", "same_tokens", 64), ("none", "training", 16)):
        assert losses(tmp_path / "run")[key] == pytest.approx(losses(done)[key], abs=1e-3)


def test_a_training_that_diverges_is_a_row(small: list[str], tmp_path: Path) -> None:
    wild = ["optimizer.learning_rate=1e6", "trainer.max_steps=30", "trainer.checkpoint_every=30"]
    run = [*small, *wild, f"outputs={tmp_path}/o", f"hydra.run.dir={tmp_path}/run"]
    assert "The loss is nan at step 4: lower optimizer.learning_rate=1e+06, raise" in call(*run).stdout
    assert "is done already" in call(*run).stdout
    rows = read_rows(tmp_path / "run/results.jsonl")
    assert {row.protocol for row in rows} == {"training"}
    assert find(rows, metric="diverged_at")[0].value == 4
    assert find(rows, metric="loss")[0].value > 0
    assert json.loads((tmp_path / "run/run.json").read_text())["diverged"].startswith("The loss is nan")
    assert not list(tmp_path.rglob("*.ckpt*"))
    refused = call(f"run={tmp_path}/run", module="train.evaluate", check=False)
    assert "holds no model: The loss is nan" in refused.stderr


@pytest.mark.parametrize("other", ["seed", "precision"])
def test_an_evaluation_goes_on_from_none_of_another_run(
    small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """Of another seed, or of a machine with another precision, whose evaluation was stopped in the folder."""
    settings = ["encoding=nope", *small, "trainer.max_steps=2", "trainer.precision=auto"]
    first, second = (composed(*settings, f"seed={seed}") for seed in (0, int(other == "seed")))
    monkeypatch.setattr(machine, "resolved_precision", lambda *requested: "32-true")
    monkeypatch.setattr("train.evaluation.text.KEEP_EVERY", -1.0)
    score, parts = TextEvaluator.score, []

    def stopped(evaluator: TextEvaluator, part: TextPart) -> None:
        parts.append(part)
        if len(parts) == 3:
            raise ValueError("stopped")
        score(evaluator, part)

    with monkeypatch.context() as patch:
        patch.setattr(TextEvaluator, "score", stopped)
        with pytest.raises(ValueError, match="stopped"):
            run_here(first, tmp_path / "run")
    assert list((tmp_path / "run").glob("unfinished*"))
    if other == "precision":
        monkeypatch.setattr(machine, "resolved_precision", lambda *requested: "bf16-mixed")
    for name in ("run", "other"):
        run_here(second, tmp_path / name)
    found, expected = (read_rows(tmp_path / name / "results.jsonl") for name in ("run", "other"))
    losses = [[row.value for row in rows if row.metric == "loss"] for rows in (found, expected)]
    assert losses[0] == losses[1]
