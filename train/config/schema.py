"""All settings of a run, whose values come from `conf/`; the parameters of methods and data are free."""

from collections.abc import Iterator
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
from train.results.protocols import COPYING, KEY_TOKENS, REPLACED

STEPS, CLIP = "trainer.max_steps", "optimizer.clip, the largest norm"
ELSEWHERE = {  # flags of Lightning's Trainer that other settings set
    "accumulate_grad_batches": "trainer.accumulate", "callbacks": "callbacks=<file of conf/callbacks>",
    "default_root_dir": "outputs", "enable_checkpointing": "trainer.checkpoint_every",
    "gradient_clip_algorithm": CLIP, "gradient_clip_val": CLIP, "log_every_n_steps": "trainer.log_every",
    "logger": "logger=<file of conf/logger>, or wandb.mode", "max_epochs": STEPS, "min_epochs": STEPS,
    "min_steps": STEPS, "num_sanity_val_steps": "trainer.val_check_interval",
    "plugins": "trainer.precision and trainer.strategy", "use_distributed_sampler": "trainer.devices",
}  # fmt: skip


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
    def settings_suit_each_other(self) -> Self:
        for sentence in self.conflicts():
            raise UsageError(sentence)
        return self

    def conflicts(self) -> Iterator[str]:
        """Yield a sentence on settings that do not suit others."""
        evaluation, trainer, is_masked = self.evaluation, self.trainer, self.objective == "mlm"
        if is_masked and self.model.causal:
            yield "objective=mlm hides tokens that a causal model cannot infer: add model.causal=false."
        if not is_masked and not self.model.causal:
            yield "model.causal=false sees the token that it must predict: add objective=mlm."
        for name in (COPYING, KEY_TOKENS, REPLACED):
            if is_masked and name in evaluation.protocols:
                yield f"evaluation.protocols=[{name}] is for objective=clm: leave it out."
        for flag in trainer.parameters.keys() & ELSEWHERE.keys():
            yield f"trainer.{flag} is set by {ELSEWHERE[flag]}."
        parts = trainer.processes * trainer.accumulate
        if self.batch % parts and (self.run is None or self.extension.finetune_steps):
            yield (
                f"batch={self.batch} cannot be split evenly over {parts} devices and parts: change it or "
                "trainer.devices, trainer.num_nodes, trainer.accumulate."
            )
        if self.checkpoint not in (None, *trainer.keep):
            kept, run = ",".join(map(str, trainer.keep)), f" of {self.run}" if self.run else ""
            yield f"checkpoint={self.checkpoint} is not in trainer.keep=[{kept}]{run}."
        if self.run is None and self.checkpoint is not None:
            yield f"checkpoint={self.checkpoint} is of a trained run: yardstick evaluate run=..."
        shortest = min(evaluation.at(self.model.length))
        for key, value in (("stride", evaluation.stride), ("last", evaluation.last)):
            if value != "auto" and value > shortest:
                yield (
                    f"evaluation.{key}={value} must be auto or a number of tokens from 1 to {shortest}, the "
                    "shortest evaluated length."
                )
