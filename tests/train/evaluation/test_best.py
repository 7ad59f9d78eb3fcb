"""The best checkpoint is chosen on text that is not scored, and is shown next to the last."""

import json
from pathlib import Path

import pytest
import torch

import data
from sweeps.comparison.summarize import summarise
from sweeps.results import load_sweep
from tests.composing import composed
from tests.train.conftest import SMALL, call
from train import build
from train.evaluation.best import UnscoredProblems
from train.fit.checkpoints import restore
from train.fit.loss import answer_losses
from train.results.rows import read_rows

TASK = """data=copy model.width=32 model.depth=1 data.lengths=[1,4] model.length=9 batch=16 trainer=cpu
    trainer.precision=32-true trainer.max_steps=30 trainer.keep=[0.1,0.5]
    optimizer.learning_rate=2 optimizer.warmup=1 evaluation.lengths=[2,4,8] evaluation.problems=20
    evaluation.extensions=[] wandb.mode=disabled""".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose learning rate makes it worse at its end than before."""
    place = tmp_path_factory.mktemp("best")
    call(*TASK, "checkpoint=best", f"outputs={place}/o", f"hydra.run.dir={place}/runs/rope")
    return place / "runs/rope"


def test_nothing_that_is_scored_chooses(tmp_path: Path) -> None:
    config = composed(*TASK)
    source = data.load(config.named_data, config.model.vocab, tmp_path)
    scored, other = source.problems(20, 4), UnscoredProblems(source).problems(20, 4)
    assert len(other.tokens) > 10
    assert not (other.tokens[:, None] == scored.tokens).all(-1).any()
    with pytest.raises(ValueError, match=r"problems of length 1 that are not scored: lower .*problems=500"):
        UnscoredProblems(source).problems(500, 1)  # there are sixteen of length 1


def test_the_best_is_that_of_the_lowest_loss_up_to_the_training_length(folder: Path) -> None:
    config = composed(*TASK, f"outputs={folder.parent.parent}/o")
    model, about = build.build_gpt(config), json.loads((folder / "run.json").read_text())
    source = data.load(config.named_data, config.model.vocab, folder)
    losses = {}
    for file in folder.glob("*.ckpt"):
        restore(file, model, about["training"])
        means = []
        for length in (2, 4):
            problems = UnscoredProblems(source).problems(20, length)
            with torch.no_grad():
                nats = torch.zeros(problems.mask.shape)
                nats[problems.mask] = answer_losses(
                    model, problems.tokens, problems.targets, problems.mask, 0
                )[0]
            means.append(float((nats.sum(1) / problems.mask.sum(1)).mean()))
        losses[file.stem] = sum(means) / 2
    assert set(losses) == {"final", "step-3", "step-15"}
    assert about["best"] == min(losses, key=losses.__getitem__) != "final"
    rows = [
        row
        for row in read_rows(folder / "results.jsonl")
        if (row.protocol, row.metric) == ("answers", "loss")
    ]
    values = {(row.extension, row.length): row.value for row in rows}
    assert values.keys() == {(name, length) for name in ("none", "best") for length in (2, 4, 8)}
    assert (values["best", 4] or 9.0) < (values["none", 4] or 0.0)


def test_the_report_shows_it_beside_the_last(folder: Path) -> None:
    (comparison,) = summarise(load_sweep(folder.parent)).comparisons
    assert set(comparison.headline.methods["rope"]) == {"none", "best"}
    assert set(comparison.extensions["rope"]) == {"best"}


def test_a_trained_run_is_asked_for_its_best(folder: Path, text: Path, tmp_path: Path) -> None:
    """Text chooses the checkpoint for text."""
    small = [*SMALL, f"data.path={text}", f"outputs={tmp_path}/o", "data.held_out=0.5"]
    call(*small, "trainer.keep=[0.5]", f"hydra.run.dir={tmp_path}/run")
    call(f"run={tmp_path}/run", "checkpoint=best", f"outputs={tmp_path}/o", module="train.evaluate")
    (found,) = (tmp_path / "run/evaluations").iterdir()
    assert found.name.startswith("run@best-")
    assert json.loads((found / "run.json").read_text())["best"] in ("final", "step-3")
    rows = read_rows(found / "results.jsonl")
    assert {row.extension for row in rows if row.protocol == "same_tokens"} == {"none", "best"}


def test_without_others_to_choose_from_it_is_refused() -> None:
    with pytest.raises(ValueError, match=r"checkpoint=best needs others than the last one: trainer\.keep="):
        composed(*TASK, "checkpoint=best", "trainer.keep=[]")
    with pytest.raises(ValueError, match=r"checkpoint=0\.5 is of a trained run: python -m train\.evaluate"):
        composed(*TASK, "checkpoint=0.5")
