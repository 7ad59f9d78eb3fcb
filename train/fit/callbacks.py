"""The curves of a training, which are kept, logged and printed."""

import time
from collections.abc import Iterable
from datetime import timedelta
from math import isfinite
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from data.batch import Batch
from train.fit.module import Training

WATCHED = ("loss", "learning_rate", "gradient_norm", "tokens_per_second")
VALIDATED = ("validation_loss",)
LINES = 5  # logged steps from one line of progress to the next


class DivergedError(Exception):
    """A loss or a weight is not a finite number, so that the training cannot go on."""

    def __init__(self, step: int, fault: str) -> None:
        super().__init__(f"{fault} at step {step}")
        self.step = step


class Curves(Callback):
    """The values that a training logs, by step; a resumed one has them all.

    Raise DivergedError at the first loss that is not finite, before anything that depends on it is saved.
    """

    def __init__(self, section: str) -> None:
        self.section = section
        self.points: list[tuple[int, dict[str, float]]] = []  # step, values by name
        self.losses: dict[int, Tensor] = {}  # by step, on the device: reading one would wait for it
        self.tokens, self.since = 0, 0.0  # of all processes since a time

    def curve(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) of one of the curves."""
        return [(step, values[name]) for step, values in self.points if name in values]

    def state_dict(self) -> dict[str, Any]:
        return {"points": self.points}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.points = list(state["points"])

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        log_points(trainer.loggers, self.section, self.points)

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        training, step = cast(Training, module), trainer.global_step
        self.tokens += cast(Batch, batch).tokens.numel() * trainer.world_size
        if outputs:
            self.losses[step] = outputs["loss"]
        if outputs and training.is_logged(step):
            self.check(trainer)
            if self.since:
                training.log_values(tokens_per_second=self.tokens / (time.perf_counter() - self.since))
            self.keep(trainer, WATCHED)
            if trainer.is_global_zero and not trainer.progress_bar_callback:
                self.show(training)
        if training.is_logged(step) or not self.since:  # the first step pays for allocations
            self.tokens, self.since = 0, time.perf_counter()

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        self.keep(trainer, VALIDATED)
        self.tokens, self.since = 0, time.perf_counter()

    def keep(self, trainer: Trainer, names: Iterable[str]) -> None:
        """Keep the newest values of these names, and log them."""
        newest, prefix = trainer.callback_metrics, f"{self.section}/"
        values = {name: float(newest[prefix + name]) for name in names if prefix + name in newest}
        if not values:
            return
        if not self.points or self.points[-1][0] != trainer.global_step:
            self.points.append((trainer.global_step, {}))
        self.points[-1][1].update(values)
        log_points(trainer.loggers, self.section, [(trainer.global_step, values)])

    def show(self, training: Training) -> None:
        """Print a line now and then."""
        (step, values), recipe = self.points[-1], training.recipe
        if "tokens_per_second" in values and step % (training.settings.log_every * LINES) == 0:
            left = (recipe.steps - step) * recipe.batch * recipe.length / values["tokens_per_second"]
            pace = (
                f"{values['tokens_per_second'] / 1000:,.1f}k tokens/s, {timedelta(seconds=round(left))} left"
            )
            print(f"step {step:,}/{recipe.steps:,}, loss {values['loss']:.3f}, {pace}", flush=True)

    def check(self, trainer: Trainer) -> None:
        """Check the losses since the last check."""
        if self.losses:
            losses = trainer.strategy.reduce(torch.stack([*self.losses.values()]), reduce_op="mean")
            for step, loss in zip(self.losses, losses.tolist(), strict=True):
                if not isfinite(loss):
                    raise DivergedError(step, f"The loss is {loss}")
            self.losses.clear()


def log_points(loggers: Iterable[Any], section: str, points: Iterable[tuple[int, dict[str, float]]]) -> None:
    """Give the values of each step to loggers of Lightning."""
    for step, values in points:
        for logger in loggers:
            logger.log_metrics({f"{section}/{name}": value for name, value in values.items()}, step)
