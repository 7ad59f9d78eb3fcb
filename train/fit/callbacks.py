"""The course of a training: loss, speed and time left, in the log and to W&B, and its history."""

import sys
import time
from math import isfinite
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from conf.errors import UsageError
from train.context import Log
from train.runtime.progress import Status, duration


class Progress(Callback):
    """Every `every` steps: the loss, the learning rate, tokens a second, time left.

    A loss is the mean over the whole batch of a step: over all its parts and all processes. UsageError at
    the first one that is not finite, with `hint`, before anything that came of it is saved.
    """

    def __init__(self, every: int, log: Log, hint: str = "") -> None:
        self.every, self.tell, self.hint = every, log, hint
        self.history: list[tuple[int, float]] = []  # step, loss
        self.speeds: list[float] = []  # tokens a second
        self.losses: dict[int, Tensor] = {}  # by step, on the device: reading one would wait for it
        self.tokens = 0  # of all processes, since then
        self.since: tuple[int, float] | None = None  # step, time
        self.status = Status()

    def state_dict(self) -> dict[str, Any]:
        return {"history": self.history, "speeds": self.speeds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.history, self.speeds = list(state["history"]), list(state["speeds"])

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        loss, parts = outputs["loss"].detach(), trainer.accumulate_grad_batches
        step = trainer.global_step + (1 if (index + 1) % parts else 0)
        if batch.weight is not None:  # a step without a target has no loss
            self.losses[step] = self.losses.get(step, 0) + loss
        self.tokens += batch.tokens.numel() * trainer.world_size
        if (index + 1) % parts:
            return
        if step % self.every == 0 or step == trainer.max_steps:
            self.report(trainer)
        if self.since is None:  # the first step pays for allocations
            self.since, self.tokens = (step, time.perf_counter()), 0

    def on_save_checkpoint(
        self, trainer: Trainer, module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self.newest_loss(trainer)

    def newest_loss(self, trainer: Trainer) -> float | None:
        """Return the loss of this step, after a look at all since the last call; None where there is none."""
        if not self.losses:
            return None
        losses: Tensor = trainer.strategy.reduce(torch.stack([*self.losses.values()]), reduce_op="mean")
        steps = [*self.losses]
        self.losses.clear()
        for step, loss in zip(steps, losses.tolist(), strict=True):
            if not isfinite(loss):
                raise UsageError(f"The loss is {loss} at step {step}: {self.hint}")
        return float(losses[-1]) if steps[-1] == trainer.global_step else None

    def report(self, trainer: Trainer) -> None:
        step, loss = trainer.global_step, self.newest_loss(trainer)
        if loss is None:
            return
        self.history.append((step, loss))
        values = {"train/loss": loss, "train/learning_rate": trainer.optimizers[0].param_groups[0]["lr"]}
        if self.since is not None:
            now = time.perf_counter()
            seconds = now - self.since[1]
            speed, steps = self.tokens / seconds, int(trainer.max_steps)
            left = (steps - step) * seconds / (step - self.since[0])
            self.speeds.append(speed)
            self.since, self.tokens = (step, now), 0
            values["train/tokens_per_second"] = speed
            if trainer.is_global_zero and (sys.stdout.isatty() or step % (self.every * 5) == 0):
                pace = f"{speed / 1000:,.1f}k tokens/s, {duration(left)} left"
                self.status.show(f"step {step:,}/{steps:,}, loss {loss:.3f}, {pace}")
        self.tell(step, values)
