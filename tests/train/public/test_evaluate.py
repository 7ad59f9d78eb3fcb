"""The evaluation of a checkpoint has what that of our runs has: temperature, W&B, refusals."""

from pathlib import Path

import pytest
import wandb

from conf.errors import UsageError
from models.extensions.temperature import Temperature
from tests.checkpoints import save_documents, save_small_llama
from tests.train import wandb_file
from train.public.evaluate import evaluate_checkpoint, prepared, public_config
from train.public.model import PublicModel
from train.results.rows import Row, read_rows
from train.results.run_folder import RESULTS

SMALL = [
    "data=files", "data.held_out=0.5", "trainer.accelerator=cpu", "trainer.threads=1", "dtype=float32",
    "evaluation.lengths=[32,64]", "evaluation.windows=4", "evaluation.extensions=[]",
]  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    model, text = save_small_llama(tmp_path / "model"), save_documents(tmp_path / "text.csv")
    return [*SMALL, f"model={model}", f"data.path={text}", f"outputs={tmp_path}"]


def rows_of(settings: list[str], *more: str) -> list[Row]:
    return read_rows(evaluate_checkpoint(public_config([*settings, *more])) / RESULTS)


def test_the_best_temperature_is_searched_on_other_documents(settings: list[str]) -> None:
    """Each length has a factor of its own, with which the loss is no worse than without."""
    rows = rows_of(settings, "extension=temperature")
    factors = {row.length: row.value for row in rows if row.metric == "temperature"}
    assert set(factors) == {32, 64}
    assert all(0.3 < factor < 4 for factor in factors.values() if factor)
    losses = {(row.extension, row.length): row.value or 0 for row in rows if row.metric == "loss"}
    for length in factors:
        assert losses["temperature", length] != losses["none", length]
        assert losses["temperature", length] < losses["none", length] + 0.01


def test_a_factor_acts_in_every_layer(settings: list[str]) -> None:
    evaluation = prepared(public_config([*settings, "extension=temperature"]))
    model = evaluation.checkpoint.model.under("temperature", evaluation.chosen["temperature"].parameters)
    assert isinstance(model, PublicModel)
    (change,) = [module for module in model.modules() if isinstance(module, Temperature)]
    assert change.auto


def test_temperature_without_other_documents_is_refused(settings: list[str]) -> None:
    with pytest.raises(UsageError, match="held-out documents that are not scored"):
        rows_of(settings, "extension=temperature", "evaluation.windows=1000")


def test_wandb_has_the_rows_and_the_curve_of_a_fine_tuning(settings: list[str], tmp_path: Path) -> None:
    more = [
        "wandb.mode=offline",
        "extension=pi",
        "extension.finetune_steps=2",
        "extension.finetune_length=16",
    ]
    rows = rows_of(settings, *more, "trainer.log_every=1", "wandb.tags=[mine]")
    wandb.teardown()
    (folder,) = [path for path in tmp_path.glob("wandb/*run-*") if not path.is_symlink()]
    content = wandb_file.read(folder)
    assert content.config["encoding"] == "model"
    assert content.run["display_name"].startswith("model-pi-")
    assert {"model", "pi", "mine"} <= set(content.run["tags"])
    assert content.config["checkpoint"].endswith("/model")
    assert content.exits == [0]
    losses = {row.length: row.value for row in rows if row.metric == "loss" and row.extension == "none"}
    assert dict(content.curve("extrapolation/length", "extrapolation/loss")) == pytest.approx(losses)
    assert len(content.curve("finetune/pi/step", "finetune/pi/loss")) == 2


def test_an_extension_that_does_not_fit_is_refused(settings: list[str]) -> None:
    """It would have the rows of the checkpoint itself."""
    with pytest.raises(UsageError, match="does not fit"):
        prepared(public_config([*settings, "evaluation.extensions=[learned_interpolated]"]))
