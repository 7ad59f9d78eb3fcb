"""The losses that a run keeps: of the whole batch, and all of them."""

from pathlib import Path

import pytest

import data
from tests.composing import composed
from train import build
from train.context import Log, Run, ignore, trainer
from train.fit import callbacks
from train.fit.callbacks import Progress
from train.fit.module import Training
from train.fit.recipe import Recipe


def fit_steps(small: list[str], outputs: Path, every: int, *more: str, log: Log = ignore) -> Progress:
    config = composed(*small, *more)
    source = data.load(config.named_data, config.model.vocab, outputs / "data")
    progress, parts = Progress(every, log), config.trainer.accumulate
    flags = {"max_steps": 5, "callbacks": [progress], "accumulate_grad_batches": parts}
    run = Run(source, Recipe.of(config), config.trainer, config.evaluation)
    trainer(config.trainer, "32-true", **flags).fit(Training(build.build_gpt(config), run))
    return progress


def history(small: list[str], outputs: Path, every: int, *more: str) -> list[tuple[int, float]]:
    return fit_steps(small, outputs, every, *more).curve("loss")


@pytest.mark.parametrize(
    "more", ["", "objective=mlm model.causal=false", "encoding=randomized_rope trainer.accumulate=2"]
)
def test_validation_changes_nothing(
    more: str, small: list[str], outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callbacks, "APART", 1)
    validated = fit_steps(small, outputs, 1, *more.split())
    monkeypatch.setattr(callbacks, "validation_loss", lambda *_: {})
    plain = fit_steps(small, outputs, 1, *more.split())
    assert [step for step, _ in validated.curve("validation_loss")] == [1, 2, 3, 4, 5]
    assert validated.curve("validation_loss")[-1][1] < validated.curve("validation_loss")[0][1]
    for name in ("loss", "gradient_norm", "learning_rate"):
        assert validated.curve(name) == plain.curve(name)


def test_a_training_that_resumes_tells_its_course_again(small: list[str], outputs: Path) -> None:
    logged: list[tuple[str, int, dict[str, float]]] = []
    progress = fit_steps(small, outputs, 2, log=lambda *point: logged.append(point))
    course = [("train", step, values) for step, values in progress.curves]
    assert logged == course
    Progress(2, lambda *point: logged.append(point)).load_state_dict(progress.state_dict())
    assert logged == 2 * course


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
