"""Training as Lightning sees it: loss, optimizer, schedule, batches; nothing else."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.optim import Optimizer

from data.batch import Batch
from data.source import Source
from models.gpt import GPT
from train.loss import mean_loss
from train.objective import OBJECTIVES


class Training(LightningModule):
    """One GPT on its way through `max_steps` batches."""

    def __init__(self, model: GPT, source: Source, settings: dict[str, Any], length: int) -> None:
        super().__init__()
        self.model, self.source, self.settings, self.length = model, source, settings, length
        self.objective = OBJECTIVES[settings["objective"]]

    def train_dataloader(self) -> "Batches":
        return Batches(self)

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        mask = None if batch.mask is None else batch.mask.to(device, non_blocking=True)
        tokens, targets = (ids.to(device, non_blocking=True) for ids in (batch.tokens, batch.targets))
        return Batch(tokens, targets, mask, batch.weight)

    def training_step(self, batch: Batch, index: int) -> Tensor:
        loss = mean_loss(self.model, batch.tokens, batch.targets, batch.mask, draw=self.global_step)
        return loss * batch.weight

    def configure_optimizers(self) -> OptimizerLRScheduler:
        optimizer = adamw(self.model, self.settings["optimizer"], fused=self.trainer.precision != "16-mixed")
        steps = int(self.trainer.max_steps)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: warmup_cosine(step, steps, **pick(self.settings["optimizer"]))
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        # Lightning's own clipping refuses fused AdamW under mixed precision
        clip = self.settings["optimizer"]["clip"]
        if clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip)


class Batches:
    """The batches from the trainer's step on: an interrupted run meets the same ones as if never stopped."""

    def __init__(self, module: Training) -> None:
        self.module = module

    def __iter__(self) -> Iterator[Batch]:
        module, trainer, settings = self.module, self.module.trainer, self.module.settings
        size, seed, count = settings["batch"], settings["seed"], settings["trainer"]["accumulate"]
        step = trainer.global_step
        while True:
            share = trainer.global_rank, trainer.world_size
            batch = module.source.batch(step, module.length, size, seed, *share)
            batch = module.objective(batch, step, seed, *share)
            yield from parts(batch, count, self.asked(batch))
            step += 1

    def asked(self, batch: Batch) -> float:
        """How many targets count in this step's batch of an average process."""
        if batch.mask is None:
            return float(batch.targets.numel())
        strategy = self.module.trainer.strategy
        count = batch.mask.sum().to(strategy.root_device, torch.float32)
        return float(strategy.reduce(count, reduce_op="mean"))


def parts(batch: Batch, count: int, asked: float) -> Iterator[Batch]:
    """A batch in `count` equal parts, of which one with more of the targets that are `asked` weighs more."""
    masks = [None] * count if batch.mask is None else batch.mask.chunk(count)
    for tokens, targets, mask in zip(
        batch.tokens.chunk(count), batch.targets.chunk(count), masks, strict=True
    ):
        own = targets.numel() if mask is None else int(mask.sum())
        yield Batch(tokens, targets, mask, own * count / max(1.0, asked))


def adamw(model: GPT, settings: dict[str, Any], fused: bool) -> torch.optim.AdamW:
    """Matrices outside the encodings are decayed, all else is not."""
    of_encodings = {id(p) for p in model.encodings.parameters()}
    named = list(model.parameters())
    decayed = [p for p in named if p.ndim >= 2 and id(p) not in of_encodings]
    others = [p for p in named if p.ndim < 2 or id(p) in of_encodings]
    groups = [
        {"params": decayed, "weight_decay": settings["weight_decay"]},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups, lr=settings["learning_rate"], betas=tuple(settings["betas"]), fused=fused
    )


def pick(settings: dict[str, Any]) -> dict[str, float]:
    return {"warmup": settings["warmup"], "final": settings["final"]}


def warmup_cosine(step: int, steps: int, warmup: float, final: float) -> float:
    """The factor on the learning rate at a step."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    done = min(1.0, (step - rising) / max(1, steps - rising))
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * done))
