"""A run, as its training and its evaluations share it: the data, the recipe, the settings of the trainer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from lightning.pytorch import Trainer
from lightning.pytorch.loggers import Logger

from data.source import Source
from train.config.schema import Config
from train.config.sections import EvaluationConfig, ExtensionConfig, OptimizerConfig, TrainerConfig
from train.fit.objective import Objective, objective_of
from train.fit.processes import trainer
from train.runtime.machine import resolved_precision


@dataclass(frozen=True)
class Recipe:
    """The batches and steps of a training, or of a fine-tuning that continues it."""

    place: str  # of its folders, which end with its id
    objective: str
    length: int  # tokens of a sequence
    batch: int  # sequences of a step
    steps: int
    seed: int
    optimizer: OptimizerConfig
    first: int = 0  # number of its first batch: a fine-tuning goes on where the training ends
    rate: str = "optimizer.learning_rate"  # the setting of its learning rate
    section: str = "train"  # of W&B

    @classmethod
    def of(cls, config: Config) -> Self:
        place = f"{config.outputs}/trained/{config.names.encoding}-s{config.seed}"
        size = config.model.length, config.batch, config.trainer.max_steps
        return cls(place, config.objective, *size, config.seed, config.optimizer)

    def finetuned(self, name: str, extension: ExtensionConfig) -> Self:
        """Return the recipe of a fine-tuning under an extension, whose steps have about as many tokens."""
        length, rate = extension.finetune_length or self.length, extension.finetune_learning_rate
        return replace(
            self, place=f"{self.place}-{name}", first=self.first + self.steps, length=length,
            batch=max(1, self.batch * self.length // length), steps=extension.finetune_steps,
            optimizer=self.optimizer.model_copy(update={"learning_rate": rate}),
            rate="extension.finetune_learning_rate", section=f"finetune/{name}",
        )  # fmt: skip


@dataclass(frozen=True)
class Run:
    """The parts of a run that its training shares with every evaluation."""

    source: Source
    recipe: Recipe
    settings: TrainerConfig
    evaluation: EvaluationConfig
    loggers: tuple[Logger, ...] = ()
    callbacks: Mapping[str, Any] = field(default_factory=dict)  # settings of callbacks of training, by name
    unfinished: Path | None = None  # what an evaluation of this id writes its sums to, less a suffix

    @property
    def objective(self) -> Objective:
        return objective_of(self.recipe.objective, self.source.mask_token)

    @property
    def precision(self) -> str:
        """Return `trainer.precision`, with `auto` resolved for this machine."""
        return resolved_precision(self.settings.precision, self.settings.accelerator)

    @property
    def trained_length(self) -> int:
        """Return the training length in tokens, or as a task counts that of its longest training problem."""
        return self.source.trained_length or self.recipe.length

    def passes(self, extensions: Mapping[str, ExtensionConfig]) -> float | None:
        """Return how often the training, and the longest fine-tuning after it, read the training text; None
        if there is no text."""
        further = [self.recipe.finetuned(*item) for item in extensions.items() if item[1].finetune_steps]
        first, *later = [
            self.source.passes(recipe.batch * recipe.steps, recipe.length)
            for recipe in (self.recipe, *further)
        ]
        return None if first is None else first + max((count or 0.0 for count in later), default=0.0)

    @property
    def lengths(self) -> list[int]:
        """Return the lengths to evaluate at."""
        return self.evaluation.at(self.trained_length)

    def trainer(self, **flags: Any) -> Trainer:
        return trainer(self.settings, self.precision, **flags)
