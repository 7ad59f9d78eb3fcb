"""The course of a training: its curves, in the log and to W&B, and the time that is left."""

import sys
import time
from contextlib import nullcontext
from math import isfinite
from typing import Any, cast

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from conf.errors import UsageError
from data.batch import Batch, inputs_and_targets
from train.context import Log
from train.fit.loss import mean_loss
from train.fit.module import Training
from train.runtime.progress import Status, duration

VALIDATIONS, APART = 10, 50  # of a training at most, and steps from one to the next at least


class Progress(Callback):
    """Every `every` steps: the loss, the learning rate, the norm of the gradient, tokens per second, time
    left.

    A loss is the mean over the whole batch of a step: over all its parts and all processes. Raise UsageError,
    with `hint`, at the first loss that is not finite, before anything that depends on it is saved.
    """

    def __init__(self, every: int, log: Log, hint: str = "", section: str = "train") -> None:
        self.every, self.tell, self.hint, self.section = every, log, hint, section
        self.curves: list[tuple[int, dict[str, float]]] = []  # step, values by name
        self.norm: Tensor | None = None  # of the gradient, before it is clipped
        self.losses: dict[int, Tensor] = {}  # by step, on the device: reading one would wait for it
        self.tokens = 0  # of all processes, since then
        self.since: tuple[int, float] | None = None  # step, time
        self.status = Status()

    def curve(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) of one of the curves."""
        return [(step, values[name]) for step, values in self.curves if name in values]

    def state_dict(self) -> dict[str, Any]:
        return {"curves": self.curves}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.curves = list(state.get("curves", []))
        for step, values in self.curves:
            self.tell(self.section, step, values)

    def on_before_optimizer_step(
        self, trainer: Trainer, module: LightningModule, optimizer: Optimizer
    ) -> None:
        if self.is_due(trainer, trainer.global_step + 1):
            self.norm = get_total_norm([p.grad for p in module.parameters() if p.grad is not None])

    def is_due(self, trainer: Trainer, step: int) -> bool:
        return step % self.every == 0 or step == trainer.max_steps

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
        if self.is_due(trainer, step):
            self.report(trainer, cast(Training, module), batch.tokens.shape)
        if self.since is None:  # the first step pays for allocations
            self.since, self.tokens = (step, time.perf_counter()), 0

    def on_save_checkpoint(
        self, trainer: Trainer, module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self.newest_loss(trainer)

    def newest_loss(self, trainer: Trainer) -> float | None:
        """Return the loss of this step, after a check of all since the last call; None if there is none."""
        if not self.losses:
            return None
        losses: Tensor = trainer.strategy.reduce(torch.stack([*self.losses.values()]), reduce_op="mean")
        steps = [*self.losses]
        self.losses.clear()
        for step, loss in zip(steps, losses.tolist(), strict=True):
            if not isfinite(loss):
                raise UsageError(f"The loss is {loss} at step {step}: {self.hint}")
        return float(losses[-1]) if steps[-1] == trainer.global_step else None

    def report(self, trainer: Trainer, training: Training, shape: torch.Size) -> None:
        step, steps, loss = trainer.global_step, int(trainer.max_steps), self.newest_loss(trainer)
        if loss is None:
            return
        values = {"loss": loss, "learning_rate": trainer.optimizers[0].param_groups[0]["lr"]}
        if self.norm is not None:
            values["gradient_norm"] = float(self.norm)
        if self.since is not None:
            now = time.perf_counter()
            seconds = now - self.since[1]
            speed = self.tokens / seconds
            left = (steps - step) * seconds / (step - self.since[0])
            values["tokens_per_second"] = speed
            if trainer.is_global_zero and (sys.stdout.isatty() or step % (self.every * 5) == 0):
                pace = f"{speed / 1000:,.1f}k tokens/s, {duration(left)} left"
                self.status.show(f"step {step:,}/{steps:,}, loss {loss:.3f}, {pace}")
        validated = [0, *(step for step, _ in self.curve("validation_loss"))]
        if step == steps or step - validated[-1] >= max(APART, steps / VALIDATIONS):
            values |= validation_loss(trainer, training, *shape)
        self.since, self.tokens = (step, time.perf_counter()), 0
        self.curves.append((step, values))
        self.tell(self.section, step, values)


def validation_loss(trainer: Trainer, training: Training, count: int, length: int) -> dict[str, float]:
    """Return the loss of as much held-out text, or else of as many problems, as one training step has.

    It chooses nothing, so the text may be evaluated as well.
    """
    run = training.run
    windows = run.source.windows(count, min(length, max(run.lengths)))
    problems = None if windows else run.source.problems(count, run.source.trained_length or length)
    if windows:
        batch = Batch(*inputs_and_targets(windows.tokens))
    elif problems:
        batch = Batch(problems.tokens, problems.targets, problems.mask)
    else:
        return {}
    batch = training.transfer_batch_to_device(run.objective(batch, 0, 0), training.device, 0)
    training.eval()
    with (
        torch.no_grad(),
        trainer.precision_plugin.val_step_context(),
        torch.compiler.set_stance("force_eager") if run.knobs.compile else nullcontext(),
    ):
        loss = mean_loss(training.model, batch.tokens, batch.targets, batch.mask)
    training.train()
    return {"validation_loss": float(loss)}
