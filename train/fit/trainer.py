"""Training: reuses the checkpoint of an identical training, or trains.

`<outputs>/trained/<encoding>-s<seed>-<id>/` holds it; the id is a hash of everything that determines the
weights. A lock lets one process train while others wait for it.
"""

import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from conf.errors import UsageError
from models.gpt import GPT
from train.context import Run
from train.fit.callbacks import Progress
from train.fit.checkpoints import Stage, States, TrainingResult, Weights, is_finite, restore
from train.fit.module import Training
from train.fit.recipe import Recipe
from train.runtime.machine import compile_each, description, peak_memory, reset_peak_memory
from train.runtime.ranks import is_rank_zero, locked
from train.runtime.signals import Stopped, handle


def load_or_train(
    run: Run, model: GPT, id: str, keep: tuple[int, ...] = ()
) -> tuple[TrainingResult, list[Path]]:
    """Load the weights of the training with this id, or train them now; return its summary, and the files of
    the steps to keep."""
    stage = Stage(id, Path(f"{run.recipe.place}-{id}"), keep)
    with locked(stage.folder, f"Another run is training {stage.folder.name}"):
        wanted = [stage.final, *stage.kept]
        contents = [Weights.read(file) for file in wanted]
        missing = [f for f, c in zip(wanted, contents, strict=True) if c is None or c.id != stage.id]
        if missing and is_rank_zero() and any(file.exists() for file in (stage.final, *missing)):
            names = ", ".join(file.name for file in missing)
            print(f"{stage.folder.name} is trained again, for {names}.", flush=True)
            stage.forget()
        if missing:
            fit(run, model, stage)
        elif is_rank_zero():
            print(f"{stage.folder.name} is trained already", flush=True)
    trained = restore(stage.final, model, stage.id)
    if not missing:
        trained.replay(run.log, run.recipe.section)
    return trained, wanted


def fit(run: Run, model: GPT, stage: Stage) -> None:
    """Train and write `final.ckpt`; resume an interrupted training from its last checkpoint."""
    knobs, recipe = run.knobs, run.recipe
    if knobs.compile:
        model = deepcopy(model)  # compiled for one length; the evaluation reads the file
    progress = Progress(knobs.log_every, run.log, hint(recipe, run.precision), recipe.section)
    checkpoints = Checkpoints(stage, model, progress, knobs.checkpoint_every)
    trainer = run.trainer(
        progress,
        checkpoints,
        max_steps=recipe.steps,
        plugins=[States()],
        accumulate_grad_batches=knobs.accumulate,
        **knobs.flags,
    )
    if knobs.compile:
        compile_each(model.blocks)
    reset_peak_memory()
    training = Training(model, run).train()
    last = stage.last if stage.is_resumable() else None
    if trainer.is_global_zero:
        print(f"{'Resuming' if last else 'Training'} {stage.folder.name}, {recipe.steps:,} steps", flush=True)
    trainer.fit(training, ckpt_path=last)
    checkpoints.save(trainer, stage.final)
    if trainer.is_global_zero:
        stage.forget()
    trainer.strategy.barrier()


def hint(recipe: Recipe, precision: str) -> str:
    """Return the settings that may cause a training to diverge."""
    optimizer = recipe.optimizer
    steps = f"lower {recipe.rate}={optimizer.learning_rate:g}, raise optimizer.warmup={optimizer.warmup:g}"
    clip = "" if optimizer.clip else ", set optimizer.clip=1"
    exact = "" if precision == "32-true" else ", take trainer.precision=32-true"
    return f"{steps}{clip}{exact}, or change the parameters of the encoding, or its formula."


class Checkpoints(Callback):
    """Save the state of the training at intervals, and the weights to keep."""

    def __init__(self, stage: Stage, model: GPT, progress: Progress, every: int) -> None:
        self.stage, self.model, self.progress, self.every = stage, model, progress, every
        self.started, self.signal, self.processes = time.perf_counter(), 0, 1

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        self.processes = trainer.world_size
        handle(self.remember)

    def remember(self, number: int, frame: object) -> None:
        self.signal = number

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        if (index + 1) % trainer.accumulate_grad_batches:
            return
        step = trainer.global_step
        if step in self.stage.keep:
            self.save(trainer, self.stage.at(step))
        number = self.agreed_signal(trainer, step)
        if number or step % self.every == 0:
            trainer.save_checkpoint(self.stage.last)
        if number:
            raise Stopped(number)

    def on_save_checkpoint(
        self, trainer: Trainer, module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint["id"] = self.stage.id

    def agreed_signal(self, trainer: Trainer, step: int) -> int:
        """Return the signal that ends the training now, on all processes; 0 if there is none."""
        if trainer.world_size == 1:
            return self.signal
        if step % self.progress.every:
            return 0
        signal = torch.tensor(self.signal, device=trainer.strategy.root_device)
        return int(trainer.strategy.reduce(signal, reduce_op="max"))

    def save(self, trainer: Trainer, file: Path) -> None:
        if not is_finite(self.model):
            raise UsageError(f"The weights are not finite after the last step: {self.progress.hint}")
        speeds = sorted(speed for _, speed in self.progress.curve("tokens_per_second"))
        speed, seconds = speeds[len(speeds) // 2] if speeds else 0.0, time.perf_counter() - self.started
        history, curves = self.progress.curve("loss"), tuple(self.progress.curves)
        peak = torch.tensor(peak_memory() or 0, device=trainer.strategy.root_device)
        peak = trainer.strategy.reduce(peak, reduce_op="max")
        if is_rank_zero():
            done = TrainingResult(
                id=self.stage.id, history=history, curves=curves, tokens_per_second=speed,
                seconds=seconds, peak_memory=int(peak) or None, machine=description(),
                threads=torch.get_num_threads(), processes=self.processes,
            )  # fmt: skip
            States().save_checkpoint({"model": self.model.state_dict()} | done.model_dump(), file)
