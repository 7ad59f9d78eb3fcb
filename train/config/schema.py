"""All settings of a run, whose values come from `conf/`; the parameters of methods and data are free."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from conf.errors import UsageError
from models.bounds import Seed
from train.config.sections import (
    EncodingConfig,
    EvaluationConfig,
    ExtensionConfig,
    ModelConfig,
    Name,
    Names,
    OptimizerConfig,
    SmallCount,
    TrainerConfig,
)
from train.config.validation import Natural, Section
from train.results.protocols import COPYING, REPLACED


class WandbConfig(Section):
    mode: Literal["auto", "online", "offline", "disabled"]
    project: Annotated[str, Field(pattern=r"^[^/\\#?%:]{1,128}$")] | None  # what W&B takes
    entity: str | None
    name: str | None = None
    group: str | None = None
    tags: Names = ()
    artifact: bool = False  # keep the weights with the run


class EvaluationNames(Section):
    """The names for results: those of the chosen files of `conf/`, unless the user gives others."""

    extension: Name
    data: Name


class ChosenNames(EvaluationNames):
    model: Name
    encoding: Name


class Architecture(Section):
    """The settings of the model."""

    seed: Seed  # of initial weights and the order of batches
    model: ModelConfig
    encoding: EncodingConfig


class EvaluatedConfig(Section):
    """The settings that a run of ours and the evaluation of a checkpoint have in common."""

    seed: Seed
    batch: Natural  # sequences per step, over all devices together
    outputs: str  # the folder of runs, trained models and prepared data
    extension: ExtensionConfig
    data: dict[str, Any]  # `_target_` and the parameters of the source
    optimizer: OptimizerConfig
    trainer: TrainerConfig
    evaluation: EvaluationConfig
    wandb: WandbConfig
    names: EvaluationNames

    @property
    def named_data(self) -> dict[str, Any]:
        """Return the settings of the source, with the name for its results."""
        return self.data | {"name": self.names.data}


class Config(Architecture, EvaluatedConfig):
    """The settings of a run."""

    objective: Literal["clm", "mlm"]
    jobs: SmallCount | Literal["auto"]  # of a sweep, side by side
    report: str | None  # dotted path of what makes of a sweep's folder a report
    run: str | None = None  # the folder of a trained run to evaluate; null: train
    checkpoint: float | None = None  # of a trained run: one of its `trainer.keep`
    callbacks: dict[str, Any] = Field(default_factory=dict)  # of Lightning, by name: `_target_`, parameters
    logger: dict[str, Any] = Field(default_factory=dict)  # of Lightning, besides W&B
    names: ChosenNames

    @model_validator(mode="after")
    def objective_suits_the_mask(self) -> Self:
        if self.objective == "mlm" and self.model.causal:
            raise UsageError(
                "objective=mlm hides tokens that a causal model cannot infer: add model.causal=false."
            )
        if self.objective == "clm" and not self.model.causal:
            raise UsageError("model.causal=false sees the token that it must predict: add objective=mlm.")
        for name in (COPYING, REPLACED):
            if self.objective == "mlm" and name in self.evaluation.protocols:
                raise UsageError(f"evaluation.protocols=[{name}] is for objective=clm: leave it out.")
        return self

    @model_validator(mode="after")
    def processes_can_share(self) -> Self:
        parts = self.trainer.processes * self.trainer.accumulate
        if self.batch % parts and (self.run is None or self.extension.finetune_steps):
            text = f"batch={self.batch} cannot be split evenly over {parts} devices and parts: change it or"
            raise UsageError(f"{text} trainer.devices, trainer.num_nodes, trainer.accumulate.")
        return self

    @model_validator(mode="after")
    def checkpoint_was_kept(self) -> Self:
        if self.checkpoint not in (None, *self.trainer.keep):
            kept = ",".join(map(str, self.trainer.keep))
            run = f" of {self.run}" if self.run else ""
            raise UsageError(f"checkpoint={self.checkpoint} is not in trainer.keep=[{kept}]{run}.")
        if self.run is None and self.checkpoint is not None:
            raise UsageError(f"checkpoint={self.checkpoint} is of a trained run: yardstick evaluate run=...")
        return self

    @model_validator(mode="after")
    def pieces_fit_the_shortest_length(self) -> Self:
        shortest = min(self.evaluation.at(self.model.length))
        for key, value in (("stride", self.evaluation.stride), ("last", self.evaluation.last)):
            if value != "auto" and value > shortest:
                raise UsageError(
                    f"evaluation.{key}={value} must be auto or a number of tokens from 1 to {shortest}, the "
                    "shortest evaluated length."
                )
        return self
