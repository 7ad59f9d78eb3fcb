"""A trained model: its checkpoint is reused where the same training was done before, else it is trained.

`<outputs>/trained/<encoding>-s<seed>-<cell>/` holds it; the cell is a hash of everything that
determines the weights. A lock lets one process train and the others wait for it.
"""

import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from models.gpt import GPT
from train.checkpoints import Trained, locked, restore, save
from train.machine import peak_memory, reset_peak_memory
from train.module import Training
from train.progress import Progress
from train.run import Run


@dataclass(frozen=True)
class Plan:
    """One training."""

    cell: str
    folder: Path
    length: int  # tokens
    steps: int
    keep: tuple[int, ...] = ()  # steps whose weights stay as `step-<n>.ckpt`
    rate: str = "optimizer.learning_rate"  # the setting that it is trained with

    @property
    def final(self) -> Path:
        return self.folder / "final.ckpt"

    @property
    def kept(self) -> list[Path]:
        return [self.folder / f"step-{step}.ckpt" for step in self.keep]


def trained(run: Run, model: GPT, plan: Plan) -> Trained:
    """`model` with trained weights: from the checkpoint of this cell, or by training now."""
    with locked(plan.folder):
        missing = [file.name for file in (plan.final, *plan.kept) if not file.exists()]
        if missing and plan.final.exists():
            print(f"{plan.folder.name} is trained again, for {', '.join(missing)}.", flush=True)
        if missing:
            fit(run, model, plan)
    return restore(plan.final, model, plan.cell)


def fit(run: Run, model: GPT, plan: Plan) -> None:
    """Train and write `final.ckpt`; an interrupted training resumes from its last checkpoint."""
    config = run.config.trainer
    checkpoint = Checkpoint(plan, model, Progress(config.log_every, run.log, hint(run, plan.rate)))
    last = plan.folder / "last.ckpt"
    resumable = ModelCheckpoint(
        plan.folder,
        filename=last.stem,
        every_n_train_steps=config.checkpoint_every,
        enable_version_counter=False,
    )
    trainer = run.trainer(
        max_steps=plan.steps,
        callbacks=[checkpoint.progress, checkpoint, resumable],
        accumulate_grad_batches=config.accumulate,
    )
    if config.compile:
        for block in model.blocks:
            block.compile()
    reset_peak_memory()
    training = Training(model, run.source, run.config, plan.length).train()
    try:
        trainer.fit(training, ckpt_path=str(last) if last.exists() else None)
    except (EOFError, pickle.UnpicklingError, KeyError) as error:
        raise ValueError(
            f"{last} cannot be read ({type(error).__name__}): delete it and run again."
        ) from None
    if trainer.interrupted:
        raise KeyboardInterrupt
    if trainer.is_global_zero:
        checkpoint.save(plan.final)
        last.unlink(missing_ok=True)
    trainer.strategy.barrier()


def hint(run: Run, rate: str) -> str:
    """Which settings may be at fault where a training diverges."""
    of, encoding = run.config.optimizer, run.config.names.encoding
    steps = f"lower {rate}={of.learning_rate:g}, raise optimizer.warmup={of.warmup:g}"
    clip = "" if of.clip else ", set optimizer.clip=1"
    precision = "" if run.precision == "32-true" else ", take trainer.precision=32-true"
    return f"{steps}{clip}{precision}, or change the parameters of encoding={encoding}."


class Checkpoint(Callback):
    """Writes the weights that stay."""

    def __init__(self, plan: Plan, model: GPT, progress: Progress) -> None:
        self.plan, self.model, self.progress = plan, model, progress
        self.started = time.perf_counter()

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        step, is_whole = trainer.global_step, not (index + 1) % trainer.accumulate_grad_batches
        if is_whole and step in self.plan.keep and trainer.is_global_zero:
            self.save(self.plan.folder / f"step-{step}.ckpt")

    def save(self, file: Path) -> None:
        speeds, seconds = sorted(self.progress.speeds), time.perf_counter() - self.started
        speed = speeds[len(speeds) // 2] if speeds else 0.0
        history = list(self.progress.history)
        save(file, self.model, Trained(self.plan.cell, history, speed, seconds, peak_memory()))
