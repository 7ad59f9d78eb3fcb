"""How a training goes: loss, speed and time left, in the log and to W&B; and the history that is kept."""

import sys
import time
from collections.abc import Callable
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer


class Progress(Callback):
    """Every `every` steps: the loss, the learning rate, tokens a second, time left."""

    def __init__(self, every: int, tokens: int, log: Callable[[int, dict[str, float]], None]) -> None:
        self.every, self.tokens, self.tell = every, tokens, log
        self.history: list[tuple[int, float]] = []  # step, loss
        self.speeds: list[float] = []  # tokens a second
        self.since: tuple[int, float] | None = None

    def state_dict(self) -> dict[str, Any]:
        return {"history": self.history, "speeds": self.speeds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.history, self.speeds = list(state["history"]), list(state["speeds"])

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        step = trainer.global_step
        if (index + 1) % trainer.accumulate_grad_batches:
            return
        if self.since is None:  # the first step pays for allocations
            self.since = (step, time.perf_counter())
        elif step % self.every == 0 or step == trainer.max_steps:
            now = time.perf_counter()
            speed = (step - self.since[0]) * self.tokens / (now - self.since[1])
            self.since = (step, now)
            self.report(trainer, float(outputs["loss"].detach()), speed)

    def report(self, trainer: Trainer, loss: float, speed: float) -> None:
        step, steps = trainer.global_step, int(trainer.max_steps)
        self.history.append((step, loss))
        self.speeds.append(speed)
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        self.tell(step, {"train/loss": loss, "train/learning_rate": rate, "train/tokens_per_second": speed})
        if trainer.is_global_zero and not sys.stdout.isatty() and step % (self.every * 5) == 0:
            left = (steps - step) * self.tokens / speed
            print(
                f"step {step}/{steps}  loss {loss:.3f}  {speed:,.0f} tokens/s  {left:.0f} s left", flush=True
            )
