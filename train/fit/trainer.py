"""Training: reuses the checkpoint of an identical training, or trains.

`<outputs>/trained/<encoding>-s<seed>-<id>/` holds it; the id is a hash of everything that determines the
weights. A lock lets one process train while others wait for it.
"""

from copy import deepcopy
from pathlib import Path

from hydra.utils import instantiate
from lightning.pytorch.callbacks import ProgressBar

from conf.errors import UsageError
from models.gpt import GPT
from train.context import Recipe, Run
from train.fit.batches import TrainingData
from train.fit.callbacks import Curves, DivergedError, log_points
from train.fit.checkpoints import States, TrainingFolder, TrainingResult, Weights, restore
from train.fit.module import Training
from train.fit.processes import training_strategy
from train.fit.state import StateFiles
from train.results.about import about_run
from train.runtime.machine import compile_each, reset_peak_memory
from train.runtime.ranks import decision_of_rank_zero, is_rank_zero, locked

VALIDATIONS, APART = 10, 50  # of a training at most, and steps from one to the next at least


def load_or_train(
    run: Run, model: GPT, id: str, keep: tuple[int, ...] = ()
) -> tuple[TrainingResult, list[Path]]:
    """Load the weights of the training with this id, or train them now; return its summary, and the files of
    the steps to keep. A training that diverges has no files, and leaves the model as it is."""
    stage = TrainingFolder(id, Path(f"{run.recipe.place}-{id}"), keep)
    wanted = [stage.final, *stage.kept]
    with locked(stage.folder, f"Another run is training {stage.folder.name}"):
        missing = decision_of_rank_zero([file for file in wanted if not Weights.read(file, id)])
        if missing and is_rank_zero() and any(file.exists() for file in (stage.final, *missing)):
            names = ", ".join(file.name for file in missing)
            print(f"{stage.folder.name} is trained again, for {names}.", flush=True)
            stage.forget()
        if missing:
            trained = fit(run, model, stage)
            if trained.diverged_at is not None:
                return trained, []
        elif is_rank_zero():
            print(f"{stage.folder.name} is trained already", flush=True)
    trained = restore(stage.final, model, stage.id)
    if not missing:
        log_points(run.loggers, run.recipe.section, trained.curves)
    return trained, wanted


def fit(run: Run, model: GPT, stage: TrainingFolder) -> TrainingResult:
    """Train and write `final.ckpt`; resume an interrupted training from its last checkpoint."""
    settings, recipe = run.settings, run.recipe
    training = Training(deepcopy(model), recipe, settings)  # a copy, to be compiled, wrapped or sharded
    if settings.compile:
        compile_each(training.model.blocks)
    curves = Curves(recipe.section)
    files = StateFiles(stage, curves, settings.checkpoint_every)
    callbacks = [each for each in instantiate(run.callbacks, _convert_="all").values() if each is not None]
    flags = {
        "check_val_every_n_epoch": None,  # a training has no epochs
        "val_check_interval": validation_interval(recipe.steps),
        "enable_progress_bar": any(isinstance(each, ProgressBar) for each in callbacks),
    }
    trainer = run.trainer(
        callbacks=[curves, *callbacks, files], logger=[*run.loggers], plugins=[States()],
        max_steps=recipe.steps, enable_checkpointing=True,
        strategy=training_strategy(settings, any(True for _ in model.encodings.parameters())),
        **flags | settings.parameters,
    )  # fmt: skip
    last = decision_of_rank_zero(stage.last if stage.is_resumable() else None)
    if trainer.is_global_zero:
        print(f"{'Resuming' if last else 'Training'} {stage.folder.name}, {recipe.steps:,} steps", flush=True)
    reset_peak_memory()
    try:
        trainer.fit(training.train(), datamodule=TrainingData(run), ckpt_path=last, weights_only=True)
        if trainer.global_step != recipe.steps:
            raise UsageError(
                f"The training ended at step {trainer.global_step:,} of {recipe.steps:,}, so its weights are "
                "not kept: leave out the setting of trainer, or the callback, that ends it early."
            )
        files.save_weights(trainer, stage.final)
    except DivergedError as error:
        reason = f"{error}: {hint(recipe, run.precision)}"
        if is_rank_zero():
            print(reason, flush=True)
            stage.forget()
        return files.result(error.step, reason)
    if trainer.is_global_zero:
        stage.forget()
    trainer.strategy.barrier()
    return files.result()


def validation_interval(steps: int) -> int:
    """Return the number of steps from one validation to the next."""
    return max(1, steps // max(1, min(VALIDATIONS, steps // APART)))


def hint(recipe: Recipe, precision: str) -> str:
    """Return the settings that may cause a training to diverge."""
    optimizer = recipe.optimizer
    steps = f"lower {recipe.rate}={optimizer.learning_rate:g}, raise optimizer.warmup={optimizer.warmup:g}"
    clip = "" if optimizer.clip else ", set optimizer.clip=1"
    exact = "" if precision == "32-true" else ", take trainer.precision=32-true"
    return f"{steps}{clip}{exact}, or change the parameters of the encoding, or its formula."


def restore_run(
    run: Run, model: GPT, folder: Path, checkpoint: float | None
) -> tuple[TrainingResult, list[Path]]:
    """Load the weights of a run folder into a model; return their summary and their file."""
    about = about_run(folder)
    if about.corpus != run.source.fingerprint:
        raise UsageError(f"What data={about.data} gives is not what {folder} was trained on: run it again.")
    stage = TrainingFolder(about.training, folder, run.settings.kept)
    file = stage.at(run.settings.step(checkpoint)) if checkpoint is not None else stage.final
    trained = restore(file, model, stage.id)
    log_points(run.loggers, "train", trained.curves)
    return trained, [file]
