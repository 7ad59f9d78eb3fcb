"""Training as Lightning sees it. `Training.training_step` is a whole step, from top to bottom: forward, loss,
backward, clip, step."""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import cast

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.strategies import ModelParallelStrategy
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from data.batch import Batch
from models.gpt import GPT
from train.config.sections import TrainerConfig
from train.context import Recipe
from train.fit.loss import output_loss
from train.fit.optimizer import optimizer_of


class Training(LightningModule):
    """The training of a GPT under a recipe."""

    def __init__(self, model: GPT, recipe: Recipe, settings: TrainerConfig) -> None:
        super().__init__()
        self.automatic_optimization = False  # Lightning's accumulation ignores how many targets a part has
        self.model, self.recipe, self.settings = model, recipe, settings
        self.norm = torch.zeros(())  # of the gradient, before it is clipped
        self.held_out = torch.zeros(2)  # nats and targets

    def training_step(self, batch: Batch, index: int) -> Tensor | None:
        """Take one step, and return its loss: the mean over the targets of all parts of the batch. Without
        a target it has none."""
        optimizer, schedule = cast(Optimizer, self.optimizers()), cast(LambdaLR, self.lr_schedulers())
        step, rate, loss = self.global_step, schedule.get_last_lr()[0], torch.zeros((), device=self.device)
        draw, numbers = self.recipe.first + step, self.numbers()
        targets = self.mean_targets(batch)
        for part, weight, rows in weighted_parts(batch, self.settings.accumulate, targets):
            with nullcontext() if rows.stop == len(batch.tokens) else self.without_exchange():
                hidden = self.model.hidden(part.tokens, draw, sequences=numbers[rows], given=part.positions)
                part_loss = weight * output_loss(self.model.head, hidden, part.targets, part.mask)
                with self.without_autocast():
                    self.manual_backward(part_loss)
            loss += part_loss.detach()
        with self.without_autocast():
            optimizer.step()  # which clips first, in the next method
        optimizer.zero_grad()
        schedule.step()
        if targets and self.is_logged(step + 1):
            self.log_values(loss=loss, learning_rate=rate, gradient_norm=self.norm)
        return loss if targets else None

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Clip the gradients; by now, those of float16 are unscaled."""
        limit = self.recipe.optimizer.clip or math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        self.norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm  # of all shards

    def numbers(self) -> range:
        """Return the numbers of this process's sequences among all of a step."""
        return range(self.trainer.global_rank, self.recipe.batch, self.trainer.world_size)

    def mean_targets(self, batch: Batch) -> float:
        """Return the number of targets that count in this step's batch, on average over processes."""
        if batch.mask is None:
            return self.recipe.batch / self.trainer.world_size * batch.targets.size(1)
        count = batch.mask.sum(dtype=torch.float32)
        if self.trainer.world_size == 1:
            return float(count)
        return float(self.trainer.strategy.reduce(count.to(self.device), reduce_op="mean"))

    def without_exchange(self) -> AbstractContextManager[None]:
        """Return a context in which processes keep their gradients to themselves."""
        block = getattr(self.trainer.strategy, "block_backward_sync", nullcontext)
        return cast(AbstractContextManager[None], block())

    def without_autocast(self) -> torch.autocast:
        """Return a context without autocast, which rounds float32 products of a backward pass to bfloat16 and
        keeps Muon's iterations from converging."""
        return torch.autocast(self.device.type, enabled=False)

    def is_logged(self, step: int) -> bool:
        return step % self.settings.log_every == 0 or step == self.recipe.steps

    def log_values(self, **values: Tensor | float) -> None:
        """Log values, on average over processes, for callbacks. `Curves` gives them to the loggers, because
        Lightning leaves out a last step that `log_every` does not divide."""
        named = {f"{self.recipe.section}/{name}": value for name, value in values.items()}
        self.log_dict(named, sync_dist=True, logger=False)

    def on_validation_epoch_start(self) -> None:
        self.held_out = torch.zeros(2, device=self.device)

    def validation_step(self, batch: Batch, index: int) -> None:
        count = batch.targets.numel() if batch.mask is None else int(batch.mask.sum())
        # on a CPU without a second compilation; on a GPU FlexAttention would compute all pairs without one
        stance = "force_eager" if batch.tokens.is_cpu else "default"
        with torch.compiler.set_stance(stance):
            hidden = self.model.hidden(batch.tokens, given=batch.positions)
        loss = output_loss(self.model.head, hidden, batch.targets, batch.mask)
        self.held_out += count * torch.stack([loss, torch.ones_like(loss)])

    def on_validation_epoch_end(self) -> None:
        # Lightning's mean gives each process the same weight, whatever its number of targets
        nats, count = self.trainer.strategy.reduce(self.held_out, reduce_op="sum").tolist()
        if count:  # few masked tokens may be none
            self.log_values(validation_loss=nats / count)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        config, steps = self.recipe.optimizer, self.recipe.steps
        optimizer = optimizer_of(self.model, config, fused=self.trainer.precision != "16-mixed")
        schedule = LambdaLR(optimizer, lambda step: warmup_cosine(step, steps, config.warmup, config.final))
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    def configure_model(self) -> None:
        """Under `trainer.strategy=fsdp`, let each process keep its part of all weights, gradients and states
        of the optimizer."""
        if isinstance(self.trainer.strategy, ModelParallelStrategy):
            from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

            assert self.device_mesh is not None
            for module in (*self.model.blocks, self.model):
                fully_shard(module, mesh=self.device_mesh["data_parallel"])
            register_fsdp_forward_method(self.model, "hidden")


def weighted_parts(batch: Batch, count: int, targets: float) -> Iterator[tuple[Batch, float, slice]]:
    """Yield a batch in `count` parts, each with its share of all `targets` that count, and its rows."""
    for numbers in torch.arange(len(batch.tokens)).tensor_split(count):
        rows = slice(int(numbers[0]), int(numbers[-1]) + 1)
        part = batch.at(rows)
        scored = part.targets.numel() if part.mask is None else int(part.mask.sum())
        yield part, scored / targets if targets else 0.0, rows


def warmup_cosine(step: int, steps: int, warmup: float, final: float) -> float:
    """Return the factor on the learning rate at a step."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    done = min(1.0, (step - rising) / max(1, steps - rising))
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * done))
