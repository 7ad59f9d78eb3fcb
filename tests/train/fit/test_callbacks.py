"""The losses that a run keeps: of the whole batch, and all of them."""

from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.loggers import Logger

import data
from tests.composing import composed
from train import build
from train.context import Recipe, Run
from train.fit.callbacks import Curves
from train.fit.checkpoints import TrainingResult
from train.fit.trainer import load_or_train


class Points(Logger):
    """A logger that keeps what it is given."""

    name = version = "points"

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[int | None, dict[str, float]]] = []

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.points.append((step, metrics))

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""


def train(
    small: list[str], place: Path, *more: str, logger: Logger | None = None, id: str = "01234567"
) -> TrainingResult:
    """Train a model below a folder, and return the summary of its training."""
    config = composed(*small, "trainer.max_steps=5", "trainer.log_every=1", f"outputs={place}", *more)
    source = data.load(config.named_data, config.model.vocab, place.parent / "data")
    loggers = () if logger is None else (logger,)
    run = Run(source, Recipe.of(config), config.trainer, config.evaluation, loggers, config.callbacks)
    return load_or_train(run, build.build_gpt(config), id)[0]


def curve(result: TrainingResult, name: str) -> list[tuple[int, float]]:
    curves = Curves("train")
    curves.load_state_dict({"points": result.curves})
    return curves.curve(name)


@pytest.mark.parametrize(
    "more", ["objective=mlm model.causal=false", "encoding=randomized_rope trainer.accumulate=2"]
)
def test_validation_changes_nothing(more: str, small: list[str], tmp_path: Path) -> None:
    validated = train(small, tmp_path / "a", "+trainer.val_check_interval=1", *more.split())
    plain = train(small, tmp_path / "b", "+trainer.limit_val_batches=0", *more.split())
    assert [step for step, _ in curve(validated, "validation_loss")] == [1, 2, 3, 4, 5]
    assert curve(validated, "validation_loss")[-1][1] < curve(validated, "validation_loss")[0][1]
    assert curve(plain, "validation_loss") == []
    for name in ("loss", "gradient_norm", "learning_rate"):
        assert curve(validated, name) == curve(plain, name) != []


@pytest.mark.parametrize("more", ["", "objective=mlm model.causal=false"])
def test_losses_are_means_over_all_parts(more: str, small: list[str], tmp_path: Path) -> None:
    one, *others = (
        train(small, tmp_path / str(n), f"trainer.accumulate={n}", *more.split()) for n in (1, 3, 6)
    )
    assert [step for step, _ in curve(one, "validation_loss")] == [5]
    for name in ("loss", "validation_loss"):
        expected = [loss for _, loss in curve(one, name)]
        for other in others:
            assert [loss for _, loss in curve(other, name)] == pytest.approx(expected, abs=1e-5)


def test_loggers_have_all_points_of_a_training_that_is_reused(small: list[str], tmp_path: Path) -> None:
    first, second = Points(), Points()
    result = train(small, tmp_path, "trainer.log_every=2", logger=first)
    train(small, tmp_path, "trainer.log_every=2", logger=second)
    assert [step for step, _ in result.curves] == [step for step, _ in second.points] == [2, 4, 5]
    assert second.points == [
        (step, {f"train/{name}": value for name, value in values.items()}) for step, values in result.curves
    ]
    merged: dict[int | None, dict[str, float]] = {}
    for step, values in first.points:
        merged.setdefault(step, {}).update(values)
    assert list(merged.items()) == second.points


def test_the_learning_rate_is_that_of_the_step(small: list[str], tmp_path: Path) -> None:
    more = ["optimizer.warmup=0.4", "optimizer.learning_rate=0.01", "+trainer.limit_val_batches=0"]
    rates = curve(train(small, tmp_path, *more), "learning_rate")
    assert rates[:3] == [(1, pytest.approx(0.005)), (2, pytest.approx(0.01)), (3, pytest.approx(0.01))]


def test_the_last_step_is_always_kept(small: list[str], tmp_path: Path) -> None:
    assert [step for step, _ in train(small, tmp_path / "a", "trainer.log_every=20").history] == [5]


def test_a_training_that_diverges_is_a_result_with_its_step(
    small: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wild = ["optimizer.learning_rate=1e6", "trainer.log_every=20", "trainer.max_steps=30"]
    result = train(small, tmp_path, *wild)
    assert result.diverged_at == 4
    assert result.reason is not None
    assert result.reason.startswith("The loss is nan at step 4: lower optimizer.learning_rate=1e+06, raise")
    assert result.reason in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.ckpt"))
