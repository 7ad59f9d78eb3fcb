"""The data of a training, as Lightning sees them."""

from collections.abc import Iterator
from functools import partial

import torch
from lightning.pytorch import LightningDataModule
from torch.utils.data import DataLoader, SequentialSampler

from data.batch import Batch, inputs_and_targets
from data.source import Steps, batch_loader
from train.context import Run
from train.fit.module import weighted_parts


class TrainingData(LightningDataModule):
    """The batches of a run's recipe, and as much held-out text as a batch has."""

    allow_zero_length_dataloader_with_multiple_devices = True  # a process may have no held-out text

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def train_dataloader(self) -> DataLoader[Batch]:
        """Return the batches of the steps that are not taken yet, so that a resumed training sees the same
        ones as an uninterrupted one."""
        assert self.trainer is not None
        recipe, rank, world = self.run.recipe, self.trainer.global_rank, self.trainer.world_size
        objective = partial(self.run.objective, seed=recipe.seed, rank=rank, world=world)
        steps = Steps(self.run.source, recipe.length, recipe.batch, recipe.seed, rank, world, objective)
        return batch_loader(steps, StepsAhead(self), self.run.settings.workers)

    def val_dataloader(self) -> DataLoader[Batch]:
        """Return this process's share of the held-out text, in as many parts as a step has."""
        assert self.trainer is not None
        batch, parts = self.held_out(), list[Batch]()
        if batch is not None:
            share = batch.at(slice(self.trainer.global_rank, None, self.trainer.world_size))
            count = min(self.run.settings.accumulate, len(share.tokens))
            parts = [part for part, _, _ in weighted_parts(share, count, 1)] if count else []
        return DataLoader(parts, batch_size=None)  # type: ignore[arg-type]  # a list is a dataset

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        tokens, targets = (ids.to(device, non_blocking=True) for ids in (batch.tokens, batch.targets))
        given = None if batch.positions is None else batch.positions.to(device, non_blocking=True)
        return Batch(tokens, targets, batch.mask, given)  # a GPU need not wait for the mask's values

    def held_out(self) -> Batch | None:
        """Return held-out text, or else problems. They choose nothing, so they may be evaluated as well."""
        run, recipe = self.run, self.run.recipe
        windows = run.source.windows(recipe.batch, min(recipe.length, max(run.lengths)))
        if windows is not None:
            return run.objective(Batch(*inputs_and_targets(windows.tokens)), 0, 0)
        problems = run.source.problems(recipe.batch, run.source.trained_length or recipe.length)
        if problems is None:
            return None
        batch = Batch(problems.tokens, problems.targets, problems.mask, problems.positions)
        return run.objective(batch, 0, 0)


class StepsAhead(SequentialSampler):  # Lightning replaces any other kind if `trainer.overfit_batches` is set
    """The steps from the trainer's on. Its length counts all steps, as Lightning's own count does."""

    def __init__(self, data: TrainingData) -> None:
        self.data = data

    def __len__(self) -> int:
        return self.data.run.recipe.steps

    def __iter__(self) -> Iterator[int]:
        assert self.data.trainer is not None
        recipe, trainer = self.data.run.recipe, self.data.trainer
        taken = 0 if getattr(trainer, "overfit_batches", 0) else trainer.global_step
        return iter(range(recipe.first + taken, recipe.first + recipe.steps))
