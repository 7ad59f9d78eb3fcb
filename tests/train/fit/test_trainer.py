"""A training, and the model that it returns."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer

import data
from conf.errors import UsageError
from models.registry import encodings_under
from tests.composing import composed
from tests.harm import flip
from tests.train.fit.test_callbacks import train
from train import build
from train.context import Recipe, Run
from train.fit.checkpoints import TrainingResult
from train.fit.trainer import load_or_train, validation_interval
from train.runtime.process import Stopped


class Signal(Callback):
    """A signal at a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: object, batch: object, index: int
    ) -> None:
        if trainer.global_step == self.step:
            trainer.checkpoint_callbacks[-1].remember(15, None)  # type: ignore[attr-defined]


def weights(place: Path) -> dict[str, torch.Tensor]:
    (file,) = place.glob("trained/*/final.ckpt")
    content: dict[str, torch.Tensor] = torch.load(file, weights_only=True)["model"]
    return content


def course(result: TrainingResult) -> list[tuple[int, dict[str, float]]]:
    """Return the curves, without the speed."""
    return [
        (step, {k: v for k, v in values.items() if k != "tokens_per_second"})
        for step, values in result.curves
    ]


@pytest.mark.parametrize("accumulate", [1, 2, 4])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_training_that_resumes_is_the_same_bit_for_bit(
    accumulate: int, optimizer: str, small: list[str], tmp_path: Path
) -> None:
    """It stops after a step, after one that is validated, and after one that is saved."""
    more = [
        f"trainer.accumulate={accumulate}",
        "batch=8",
        "trainer.max_steps=14",
        "+trainer.val_check_interval=5",
    ]
    more += [
        f"optimizer={optimizer}",
        "encoding=randomized_rope",
        "encoding.span=128",
        "trainer.checkpoint_every=8",
    ]
    whole = train(small, tmp_path / "whole", *more, "trainer.log_every=2")
    for step in (3, 5, 8):
        signal = f"+callbacks.signal={{_target_:tests.train.fit.test_trainer.Signal,step:{step}}}"
        with pytest.raises(Stopped):
            train(small, tmp_path / "parts", *more, "trainer.log_every=2", signal)
        assert not list(tmp_path.glob("parts/trained/*/final.ckpt"))
    parts = train(small, tmp_path / "parts", *more, "trainer.log_every=2")
    expected, found = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert course(whole) == course(parts)
    assert [step for step, values in parts.curves if "validation_loss" in values] == [5, 10]


@pytest.mark.parametrize(
    "flag",
    [
        "+trainer.fast_dev_run=true",
        "+trainer.max_time={seconds:0}",
        "+callbacks.stop={_target_:tests.train.fit.test_trainer.Stop}",
    ],
)
def test_weights_of_a_training_that_ends_early_are_not_kept(
    flag: str, small: list[str], tmp_path: Path
) -> None:
    with pytest.raises(
        UsageError, match=r"The training ended at step \d+ of 50, so its weights are not kept: leave"
    ):
        train(small, tmp_path, "trainer.max_steps=50", flag)
    assert not list(tmp_path.rglob("final.ckpt"))


@pytest.mark.parametrize(
    "harm",
    [
        lambda file: flip(file, file.stat().st_size // 2),
        lambda file: torch.save(torch.load(file) | {"id": "89abcdef"}, file),
    ],
    ids=["damaged", "of another training"],
)
def test_weights_that_are_not_of_a_training_are_made_again(
    harm: Callable[[Path], None], small: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(small, tmp_path)
    expected = weights(tmp_path)
    (file,) = tmp_path.glob("trained/*/final.ckpt")
    harm(file)
    train(small, tmp_path)
    assert "is trained again, for final.ckpt." in capsys.readouterr().out
    assert all(torch.equal(expected[name], weight) for name, weight in weights(tmp_path).items())


class Stop(Callback):
    """A callback that ends the training, as EarlyStopping does."""

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: object, batch: object, index: int
    ) -> None:
        trainer.should_stop = trainer.global_step == 3


def test_one_batch_is_learned_by_heart(small: list[str], tmp_path: Path) -> None:
    more = ["trainer.max_steps=60", "trainer.log_every=30"]
    once = train(small, tmp_path / "a", *more, "+trainer.overfit_batches=1").history
    assert once[-1][1] < train(small, tmp_path / "b", *more).history[-1][1] - 0.5


def test_workers_make_the_same_batches(small: list[str], tmp_path: Path) -> None:
    assert train(small, tmp_path / "a").history == train(small, tmp_path / "b", "trainer.workers=2").history


def test_a_fine_tuning_goes_on_where_the_batches_of_the_training_end(small: list[str]) -> None:
    config = composed(*small, "extension=pi", "extension.finetune_steps=3", "trainer.max_steps=9")
    recipe = Recipe.of(config)
    assert (recipe.first, recipe.finetuned("pi", config.extension).first) == (0, 9)


@pytest.mark.parametrize(("steps", "interval"), [(1, 1), (49, 49), (130, 65), (600, 60), (601, 60)])
def test_a_training_is_validated_ten_times_at_most(steps: int, interval: int) -> None:
    assert validation_interval(steps) == interval


def test_a_training_on_few_tokens_of_which_none_is_masked(small: list[str], tmp_path: Path) -> None:
    """Neither a step nor the validation has a loss."""
    few = ["objective=mlm", "model.causal=false", "model.length=1", "batch=1"]
    assert not any(train(small, tmp_path, *few, "trainer.max_steps=2").curves)


def test_what_is_evaluated_is_not_compiled(small: list[str], outputs: Path, tmp_path: Path) -> None:
    """It would be compiled again for each length, as would kernels that are compiled functions."""
    config = composed(*small, "trainer.compile=true", "trainer.max_steps=2", f"outputs={tmp_path}")
    source = data.load(config.named_data, config.model.vocab, outputs / "data")
    run = Run(source, Recipe.of(config), config.trainer, config.evaluation)
    model = build.build_gpt(config)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with torch.compiler.set_stance("force_eager"):
        load_or_train(run, model, "01234567")
    tokens = torch.zeros(1, 4, dtype=torch.long)
    with torch.compiler.set_stance("fail_on_recompile"):
        model(tokens)
    assert any((before[name] != weight).any() for name, weight in model.state_dict().items())


LEARNS = {  # steps, as many as it takes to learn something
    "optimizer=muon encoding=rope": 60,
    "optimizer=muon encoding=fire": 60,
    "optimizer=adamw encoding=fox": 60,
    "optimizer._target_=torch.optim.SGD optimizer.learning_rate=0.1 +optimizer.momentum=0.9": 60,
    "optimizer._target_=torch.optim.Adafactor optimizer.learning_rate=0.02": 60,
    "optimizer=muon encoding=rope extension=pi": 30,
}


@pytest.mark.parametrize("chosen", LEARNS)
def test_a_training_in_bfloat16_learns_as_one_in_float32(
    chosen: str, small: list[str], tmp_path: Path
) -> None:
    """Autocast ends with the forward pass. Muon, which iterates on float32, learned nothing under it.

    Under an extension, a fine-tuning at twice the length goes on where the training ended.
    """
    more = [*chosen.split(), f"trainer.max_steps={LEARNS[chosen]}", "model.width=64", "batch=8"]
    finals = []
    for precision in ("32-true", "bf16-mixed"):
        config = composed(*small, *more, f"trainer.precision={precision}", f"outputs={tmp_path}/{precision}")
        source = data.load(config.named_data, config.model.vocab, tmp_path / "data")
        run = Run(source, Recipe.of(config), config.trainer, config.evaluation)
        model = build.build_gpt(config)
        history = load_or_train(run, model, "01234567")[0].history
        if config.names.extension != "none":
            further = config.extension.model_copy(update={"finetune_steps": 30, "finetune_length": 32})
            tuned = model.under(encodings_under(further.parameters, model.tiled))
            run = replace(run, recipe=run.recipe.finetuned("pi", further))
            history += load_or_train(run, tuned, "89abcdef")[0].history
        finals.append(history[-1][1])
        assert finals[-1] < history[0][1] - 0.5
    assert finals[1] == pytest.approx(finals[0], abs=0.02)
