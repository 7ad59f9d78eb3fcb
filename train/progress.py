"""How a training goes: loss, speed and time left, in the log and to W&B; and the history that is kept."""

import sys
import time
from collections.abc import Callable
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer


class Progress(Callback):
    """Every `every` steps: the loss, the learning rate, tokens a second, time left."""

    def __init__(self, every: int, log: Callable[[int, dict[str, float]], None]) -> None:
        self.every, self.tell = every, log
        self.history: list[tuple[int, float]] = []  # step, loss
        self.speeds: list[float] = []  # tokens a second
        self.tokens = 0  # of all processes, since then
        self.since: tuple[int, float] | None = None  # step, time

    def state_dict(self) -> dict[str, Any]:
        return {"history": self.history, "speeds": self.speeds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.history, self.speeds = list(state["history"]), list(state["speeds"])

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        step = trainer.global_step
        self.tokens += batch.tokens.numel() * trainer.world_size
        if (index + 1) % trainer.accumulate_grad_batches:
            return
        if self.since is None:  # the first step pays for allocations
            self.since, self.tokens = (step, time.perf_counter()), 0
        elif step % self.every == 0 or step == trainer.max_steps:
            now = time.perf_counter()
            steps, seconds = step - self.since[0], now - self.since[1]
            self.report(trainer, float(outputs["loss"].detach()), self.tokens / seconds, seconds / steps)
            self.since, self.tokens = (step, now), 0

    def report(self, trainer: Trainer, loss: float, speed: float, step_seconds: float) -> None:
        step, steps = trainer.global_step, int(trainer.max_steps)
        self.history.append((step, loss))
        self.speeds.append(speed)
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        self.tell(step, {"train/loss": loss, "train/learning_rate": rate, "train/tokens_per_second": speed})
        if trainer.is_global_zero and not sys.stdout.isatty() and step % (self.every * 5) == 0:
            left = (steps - step) * step_seconds
            print(
                f"step {step}/{steps}  loss {loss:.3f}  {speed:,.0f} tokens/s  {left:.0f} s left", flush=True
            )
