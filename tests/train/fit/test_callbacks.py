"""The losses that a run keeps: of the whole batch, every one looked at."""

from pathlib import Path

import pytest

import data
from tests.composing import composed
from train import build
from train.context import ignore, trainer
from train.fit.callbacks import Progress
from train.fit.module import Training


def history(small: list[str], outputs: Path, every: int, *more: str) -> list[tuple[int, float]]:
    config = composed(*small, *more)
    source = data.load(config.data | {"name": "files"}, config.model.vocab, outputs / "data")
    progress, parts = Progress(every, ignore), config.trainer.accumulate
    some = {"max_steps": 5, "callbacks": [progress], "accumulate_grad_batches": parts}
    training = Training(build.build_gpt(config), source, config, config.model.length)
    trainer(config.trainer, "32-true", **some).fit(training)
    return progress.history


def test_a_loss_is_the_mean_over_all_parts(small: list[str], outputs: Path) -> None:
    whole = history(small, outputs, 1)
    for more in (["trainer.accumulate=3"], ["trainer.accumulate=6"]):
        for (step, loss), (same, other) in zip(whole, history(small, outputs, 1, *more), strict=True):
            assert (step, loss) == (same, pytest.approx(other, abs=1e-5))
    masked = ["objective=mlm", "model.causal=false"]
    whole, parts = (history(small, outputs, 1, *masked, f"trainer.accumulate={n}") for n in (1, 2))
    assert [loss for _, loss in parts] == pytest.approx([loss for _, loss in whole], abs=1e-5)


def test_the_last_step_is_always_kept(small: list[str], outputs: Path) -> None:
    assert [step for step, _ in history(small, outputs, 2)] == [2, 4, 5]
    assert [step for step, _ in history(small, outputs, 20)] == [5]


def test_the_first_loss_that_is_not_finite_is_named(small: list[str], outputs: Path) -> None:
    with pytest.raises(ValueError, match="The loss is nan at step 4"):
        history(small, outputs, 20, "optimizer.learning_rate=1e6")
