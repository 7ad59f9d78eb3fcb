"""Training as Lightning sees it: loss, optimizer, schedule and batches."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor

from data.batch import Batch
from models.gpt import GPT
from train.context import Run
from train.fit.loss import mean_loss
from train.fit.optimizer import optimizer_of


class Training(LightningModule):
    """The training of a GPT on the batches of a run's recipe."""

    def __init__(self, model: GPT, run: Run) -> None:
        super().__init__()
        self.model, self.run = model, run

    def train_dataloader(self) -> "Batches":
        return Batches(self)

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        tokens, targets = (ids.to(device, non_blocking=True) for ids in (batch.tokens, batch.targets))
        return Batch(tokens, targets, batch.mask, batch.weight)  # a GPU need not wait for the mask's values

    def training_step(self, batch: Batch, index: int) -> Tensor:
        loss = mean_loss(self.model, batch.tokens, batch.targets, batch.mask, draw=self.global_step)
        return loss if batch.weight is None else loss * batch.weight

    def configure_optimizers(self) -> OptimizerLRScheduler:
        config, steps = self.run.recipe.optimizer, int(self.trainer.max_steps)
        optimizer = optimizer_of(self.model, config, fused=self.trainer.precision != "16-mixed")
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: warmup_cosine(step, steps, config.warmup, config.final)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(self, *args: Any, **kwargs: Any) -> None:
        # Lightning's own clipping refuses fused AdamW under mixed precision
        if self.run.recipe.optimizer.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.run.recipe.optimizer.clip)


class Batches:
    """The batches from the trainer's step on, so that a resumed run sees the same ones as an uninterrupted
    one."""

    def __init__(self, module: Training) -> None:
        self.module = module

    def __iter__(self) -> Iterator[Batch]:
        run, recipe, trainer = self.module.run, self.module.run.recipe, self.module.trainer
        step = 0 if run.knobs.flags.get("overfit_batches") else trainer.global_step
        while True:
            share = trainer.global_rank, trainer.world_size
            batch = run.source.batch(step, recipe.length, recipe.batch, recipe.seed, *share)
            batch = run.objective(batch, step, recipe.seed, *share)
            yield from weighted_parts(batch, run.knobs.accumulate, self.targets(batch))
            step += 1

    def targets(self, batch: Batch) -> float:
        """Return the number of targets that count in this step's batch, on average over processes."""
        world, strategy = self.module.trainer.world_size, self.module.trainer.strategy
        if batch.mask is None:
            return self.module.run.recipe.batch / world * batch.targets.size(1)
        count = batch.mask.sum(dtype=torch.float32)
        if world == 1:
            return float(count)
        return float(strategy.reduce(count.to(strategy.root_device), reduce_op="mean"))


def weighted_parts(batch: Batch, count: int, total: float) -> Iterator[Batch]:
    """Yield a batch in `count` parts, each weighted by its share of the `total` targets that count."""
    masks = [None] * count if batch.mask is None else batch.mask.tensor_split(count)
    sequences = batch.tokens.tensor_split(count), batch.targets.tensor_split(count)
    for tokens, targets, mask in zip(*sequences, masks, strict=True):
        scored = targets.numel() if mask is None else int(mask.sum())
        yield Batch(tokens, targets, mask, scored * count / total if total else None)


def warmup_cosine(step: int, steps: int, warmup: float, final: float) -> float:
    """Return the factor on the learning rate at a step."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    done = min(1.0, (step - rising) / max(1, steps - rising))
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * done))
