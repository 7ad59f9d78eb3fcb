"""The recipe of a training, and of the fine-tunings that continue it."""

from dataclasses import dataclass, replace
from typing import Self

from train.config.schema import Config
from train.config.sections import ExtensionConfig, OptimizerConfig


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
        """Return the recipe of a fine-tuning under an extension, whose steps have about the same number of
        tokens."""
        length, rate = extension.finetune_length or self.length, extension.finetune_learning_rate
        return replace(
            self,
            place=f"{self.place}-{name}",
            first=self.first + self.steps,
            length=length,
            batch=max(1, self.batch * self.length // length),
            steps=extension.finetune_steps,
            optimizer=self.optimizer.model_copy(update={"learning_rate": rate}),
            rate="extension.finetune_learning_rate",
            section=f"finetune/{name}",
        )
