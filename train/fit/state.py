"""The files that a training writes while it goes on."""

import time
from pathlib import Path
from statistics import median
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from train.fit.callbacks import Curves, DivergedError
from train.fit.checkpoints import States, TrainingFolder, TrainingResult, are_finite
from train.fit.module import Training
from train.runtime.machine import description, peak_memory
from train.runtime.process import Stopped, handle


class StateFiles(Checkpoint):
    """The state of a training at intervals and at a signal, and the weights that are kept.

    Lightning's ModelCheckpoint saves before the validation of the same step, which a resumed training would
    lack, and moves its file from another file system, which a crash can tear.
    """

    def __init__(self, stage: TrainingFolder, curves: Curves, every: int) -> None:
        self.stage, self.curves, self.every = stage, curves, every
        self.started, self.signal, self.processes = time.perf_counter(), 0, 1

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        self.processes = trainer.world_size
        handle(self.remember)

    def remember(self, number: int, frame: object) -> None:
        self.signal = number

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        every = trainer.val_check_batch
        if not (trainer.enable_validation and isinstance(every, int) and trainer.global_step % every == 0):
            self.save(trainer)

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        if not trainer.sanity_checking:
            self.save(trainer)

    def on_save_checkpoint(
        self, trainer: Trainer, module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint["id"] = self.stage.id

    def save(self, trainer: Trainer) -> None:
        """Save what is due after a step and its validation."""
        step = trainer.global_step
        if step in self.stage.keep:
            self.save_weights(trainer, self.stage.at(step))
        number = self.agreed_signal(trainer)
        if number or step % self.every == 0:
            self.curves.check(trainer)
            trainer.save_checkpoint(self.stage.last)
        if number:
            raise Stopped(number)

    def agreed_signal(self, trainer: Trainer) -> int:
        """Return the signal that ends the training now, on all processes; 0 if there is none."""
        if trainer.world_size == 1:
            return self.signal
        if not cast(Training, trainer.lightning_module).is_logged(trainer.global_step):
            return 0
        signal = torch.tensor(self.signal, device=trainer.strategy.root_device)
        return int(trainer.strategy.reduce(signal, reduce_op="max"))

    def save_weights(self, trainer: Trainer, file: Path) -> None:
        """Write the weights of all processes, and the summary of the training."""
        state = trainer.strategy.lightning_module_state_dict()  # of FSDP, whole on the first process alone
        weights = {name.removeprefix("model."): weight for name, weight in state.items()}
        if not trainer.strategy.broadcast(are_finite(weights)):
            raise DivergedError(trainer.global_step, "The weights are not finite")
        peak = torch.tensor(float(peak_memory() or 0), device=trainer.strategy.root_device)
        peak = trainer.strategy.reduce(peak, reduce_op="max")
        if trainer.is_global_zero:
            result = self.result().model_copy(update={"peak_memory": int(peak) or None})
            States().save_checkpoint({"model": weights} | result.model_dump(), file)

    def result(self, diverged_at: int | None = None, reason: str | None = None) -> TrainingResult:
        """Return the summary of the training so far."""
        speeds = [speed for _, speed in self.curves.curve("tokens_per_second")]
        return TrainingResult(
            id=self.stage.id, history=self.curves.curve("loss"), curves=tuple(self.curves.points),
            tokens_per_second=median(speeds) if speeds else 0.0, diverged_at=diverged_at, reason=reason,
            seconds=time.perf_counter() - self.started, peak_memory=peak_memory(), machine=description(),
            threads=torch.get_num_threads(), processes=self.processes,
        )  # fmt: skip
