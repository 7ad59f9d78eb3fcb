"""Adapters train a checkpoint under an extension: rows, resuming and ids are those of our own fine-tuning."""

from pathlib import Path

import pytest
import torch

from conf.errors import UsageError
from tests.checkpoints import save_small_llama
from tests.train.conftest import command, on_other_processors, run_tasks, srun
from train.fit import module
from train.fit.checkpoints import Weights, read_checkpoint, weights_digest
from train.public.adapters import with_adapters
from train.public.checkpoint import load_checkpoint
from train.public.evaluate import evaluate_checkpoint, prepared, public_config
from train.results.rows import read_rows
from train.results.run_folder import RESULTS, check_finished

STEPS = 12
SMALL = [
    "data=files", "data.held_out=0.5", "trainer.accelerator=cpu", "trainer.threads=1", "dtype=float32",
    "trainer.log_every=1", "trainer.checkpoint_every=5", "evaluation.lengths=[32,64]",
    "evaluation.windows=4", "evaluation.extensions=[crop]",
    "extension=pi", f"extension.finetune_steps={STEPS}", "extension.finetune_length=32",
    "extension.finetune_learning_rate=0.02", "batch=4",
]  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    """Return settings with text in which each word follows from the one before."""
    model, text = save_small_llama(tmp_path / "model"), tmp_path / "text.csv"
    lines = (" ".join(f"w{1 + (start + n) % 62}" for n in range(200)) for start in range(40))
    text.write_text("text\n" + "\n".join(lines))
    return [*SMALL, f"model={model}", f"data.path={text}"]


def evaluate(settings: list[str], outputs: Path, *more: str) -> tuple[Path, dict[tuple[str, int], float]]:
    """Return the folder of an evaluation, and the losses by extension and length."""
    folder = evaluate_checkpoint(public_config([*settings, f"outputs={outputs}", *more]))
    rows = [row for row in read_rows(folder / RESULTS) if row.metric == "loss"]
    return folder, {
        (row.extension, row.length): row.value or 0.0 for row in rows if row.protocol == "same_tokens"
    }


def final(outputs: Path) -> Weights:
    """Return what the only fine-tuning wrote."""
    (file,) = outputs.glob("trained/model-pi-*/final.ckpt")
    content = Weights.read(file, str(read_checkpoint(file)["id"]))
    assert content is not None
    return content


def test_the_loss_falls_and_rows_have_the_number_of_steps(settings: list[str], tmp_path: Path) -> None:
    folder, tuned = evaluate(settings, tmp_path)
    losses = [loss for _, loss in final(tmp_path).history]
    assert len(losses) == STEPS
    assert losses[-1] < losses[0] - 0.15
    assert all("lora" in name for name in final(tmp_path).model)
    again, untuned = evaluate(settings, tmp_path, "extension.finetune_steps=0")
    assert again != folder
    assert {name for name, _ in tuned} == {"none", f"pi+{STEPS}", "crop"}
    assert {name for name, _ in untuned} == {"none", "pi", "crop"}
    assert tuned[f"pi+{STEPS}", 32] < untuned["pi", 32] - 0.15
    for key in (("none", 64), ("crop", 32)):  # the weights of the checkpoint are as they were
        assert tuned[key] == untuned[key]


def test_a_resumed_training_equals_an_unbroken_one(
    settings: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate_checkpoint(public_config([*settings, f"outputs={tmp_path / 'whole'}"]))
    step = module.Training.training_step

    def stop(training: module.Training, batch: object, index: int) -> object:
        if training.global_step == 7:
            raise KeyboardInterrupt
        return step(training, batch, index)

    monkeypatch.setattr(module.Training, "training_step", stop)
    with pytest.raises((KeyboardInterrupt, SystemExit, UsageError)):
        evaluate_checkpoint(public_config([*settings, f"outputs={tmp_path / 'broken'}"]))
    (state,) = (tmp_path / "broken").glob("trained/*/last.ckpt")
    assert state.stat().st_size < 1 << 20
    monkeypatch.setattr(module.Training, "training_step", step)
    evaluate_checkpoint(public_config([*settings, f"outputs={tmp_path / 'broken'}"]))
    whole, resumed = final(tmp_path / "whole"), final(tmp_path / "broken")
    assert resumed.history == whole.history
    for name, weight in whole.model.items():
        assert torch.equal(resumed.model[name], weight)


@pytest.mark.parametrize(
    "change",
    [
        "seed=1", "batch=2", "dtype=bfloat16", "extension.finetune_learning_rate=0.01", "optimizer.clip=2.0",
        "+trainer.overfit_batches=1", "+trainer.limit_train_batches=1", "+trainer.val_check_interval=2",
        "trainer.precision=bf16-mixed dtype=auto",
    ],
)  # fmt: skip
def test_the_id_covers_the_recipe_and_the_precision(change: str, settings: list[str], tmp_path: Path) -> None:
    ids = [
        prepared(public_config([*settings, f"outputs={tmp_path}", *more])).ids
        for more in ([], change.split())
    ]
    assert ids[0]["pi"] != ids[1]["pi"]


@pytest.mark.parametrize("change", ["trainer.accumulate=2", "trainer.devices=2", "wandb.tags=[a]"])
def test_the_id_leaves_out_what_changes_rounding_alone(
    change: str, settings: list[str], tmp_path: Path
) -> None:
    ids = [prepared(public_config([*settings, f"outputs={tmp_path}", *more])).ids for more in ([], [change])]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("trainer.compile=true", "trainer.compile=false"),
        ("optimizer=muon", "optimizer=adamw"),
        ("trainer.accumulate=3", "cannot be split evenly over 3"),
    ],
)
def test_what_adapters_cannot_do_is_refused(change: str, sentence: str, settings: list[str]) -> None:
    with pytest.raises(UsageError, match=sentence):
        public_config([*settings, change])
    public_config([*settings, change, "extension.finetune_steps=0"])  # which trains nothing


@pytest.mark.slow
def test_two_processes_write_one_folder(settings: list[str], tmp_path: Path) -> None:
    _, alone = evaluate(settings, tmp_path / "alone")
    environments = srun(2)
    together = [*settings, f"outputs={tmp_path / 'together'}", "trainer.devices=2"]
    run_tasks(tmp_path, environments, command, "train.evaluate", tuple(together))
    (folder,) = (tmp_path / "together").glob("checkpoints/model/pi-*")
    check_finished(folder)
    losses = {
        (row.extension, row.length): row.value
        for row in read_rows(folder / RESULTS)
        if row.metric == "loss" and row.protocol == "same_tokens"
    }
    assert losses == pytest.approx(alone, abs=1e-4)


@pytest.mark.slow
def test_all_processes_take_the_type_of_the_first(settings: list[str], tmp_path: Path) -> None:
    chosen = ("dtype=auto", "trainer.precision=auto", "trainer.devices=2", f"outputs={tmp_path}")
    run_tasks(tmp_path, srun(2), on_other_processors, "train.evaluate", (*settings, *chosen))
    (folder,) = tmp_path.glob("checkpoints/model/pi-*")
    check_finished(folder)
    assert {row.precision for row in read_rows(folder / RESULTS)} == {"bfloat16"}


def test_the_id_covers_the_weights(settings: list[str], tmp_path: Path) -> None:
    before = prepared(public_config([*settings, f"outputs={tmp_path}"])).ids
    save_small_llama(tmp_path / "model", seed=1)
    assert prepared(public_config([*settings, f"outputs={tmp_path}"])).ids["pi"] != before["pi"]


def test_only_a_copy_has_adapters(tmp_path: Path) -> None:
    model = load_checkpoint(str(save_small_llama(tmp_path / "model")), torch.float32, tmp_path).model
    before = weights_digest(model)
    adapted = with_adapters(model, seed=0)
    assert weights_digest(model) == before
    assert not [name for name, p in model.named_parameters() if p.requires_grad]
    assert all("lora" in name for name, p in adapted.named_parameters() if p.requires_grad)
    x = torch.arange(20)[None]
    with torch.no_grad():
        assert torch.equal(adapted(x), model(x))  # they start as nothing


def test_training_needs_an_extension(settings: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="add extension=plain"):
        prepared(public_config([*settings, f"outputs={tmp_path}", "extension=none"]))
