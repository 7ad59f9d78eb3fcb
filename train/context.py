"""The context of a run, which its training and all evaluations share, and the settings of this process."""

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from hydra.utils import instantiate
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.loggers import Logger
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import ModelParallelStrategy
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from conf.errors import UsageError
from data.source import Source
from train.config.sections import EvaluationConfig, TrainerConfig
from train.fit.objective import Objective, objective_of
from train.fit.recipe import Recipe
from train.runtime.machine import keep_memory, resolved_precision
from train.runtime.processes import ExitCodes


@dataclass(frozen=True)
class Run:
    """The parts of a run that its training shares with every evaluation."""

    source: Source
    recipe: Recipe
    knobs: TrainerConfig
    evaluation: EvaluationConfig
    loggers: tuple[Logger, ...] = ()
    callbacks: Mapping[str, Any] = field(default_factory=dict)  # settings of callbacks of training, by name

    @property
    def objective(self) -> Objective:
        return objective_of(self.recipe.objective, self.source.mask_token)

    @property
    def precision(self) -> str:
        """Return `trainer.precision`, with `auto` resolved for this machine."""
        return resolved_precision(self.knobs.precision, self.knobs.accelerator)

    @property
    def trained_length(self) -> int:
        """Return the training length in tokens, or in a task's own unit the length of its longest training
        problem."""
        return self.source.trained_length or self.recipe.length

    @property
    def passes(self) -> float | None:
        """Return how often the training reads the training text; None if there is no text."""
        return self.source.passes(self.recipe.batch * self.recipe.steps, self.recipe.length)

    @property
    def lengths(self) -> list[int]:
        """Return the lengths to evaluate at."""
        return self.evaluation.at(self.trained_length)

    def trainer(self, *callbacks: Callback, **more: Any) -> Trainer:
        more["callbacks"] = [*callbacks, ExitCodes()]
        return trainer(self.knobs, self.precision, **more)


def built(settings: Mapping[str, Any], **more: Any) -> list[Any]:
    """Return what the `_target_` of each setting names, as lightning-hydra-template does."""
    return [instantiate(dict(each), **more) for each in settings.values() if each and "_target_" in each]


def trainer(config: TrainerConfig, precision: str, **more: Any) -> Trainer:
    """Return Lightning's Trainer for training and for evaluation. Raise UsageError if it refuses the
    settings."""
    settings: dict[str, Any] = {
        "accelerator": config.accelerator, "devices": config.devices, "num_nodes": config.num_nodes,
        "strategy": "ddp" if config.is_distributed else "auto", "precision": precision,
        "logger": False, "log_every_n_steps": config.log_every, "max_epochs": -1,
        "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False,
        "num_sanity_val_steps": 0, "use_distributed_sampler": False,
    }  # fmt: skip
    try:
        return Trainer(**settings | more)
    except (MisconfigurationException, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise UsageError(f"Lightning refuses the settings of trainer: {reason}.") from error


def connect(config: TrainerConfig) -> None:
    """Connect the processes that torchrun or srun started, so that they can agree before they train."""
    quiet()
    if config.is_distributed:
        strategy = trainer(config, "32-true").strategy
        environment = getattr(strategy, "cluster_environment", None)
        if not isinstance(environment, LightningEnvironment | None):  # it starts the others for the training
            strategy.setup_environment()


def training_strategy(config: TrainerConfig, is_finetuning: bool) -> Any:
    """Return the strategy for Lightning's Trainer: by its name, or FSDP2 for `fsdp`."""
    if (
        config.strategy == "fsdp"
    ):  # under this name Lightning has the first FSDP, which excludes `training_step`
        count = config.devices if isinstance(config.devices, int) else torch.cuda.device_count()
        shards = (count if count > 0 else torch.cuda.device_count()) * config.num_nodes
        return ModelParallelStrategy(shards, 1, save_distributed_checkpoint=False)
    if config.strategy == "auto" and config.is_distributed:
        # an extension may leave parameters of the encoding without a gradient
        return "ddp_find_unused_parameters_true" if is_finetuning else "ddp"
    return config.strategy


def prepare_process(threads: int | str) -> None:
    """Set the number of threads (or `auto`), and how this process handles memory, denormals and messages."""
    quiet()
    if isinstance(threads, int):
        torch.set_num_threads(threads)
    keep_memory()
    torch.set_flush_denormal(True)  # weights of far keys underflow; denormals are several times slower


def quiet() -> None:
    """Silence Lightning's tips and intended warnings, but show this project's messages."""
    for name in ("train", "data"):
        messages = logging.getLogger(name)
        if not messages.hasHandlers():  # Hydra has set none up
            messages.addHandler(PrintHandler())
            messages.setLevel(logging.INFO)
    for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("lightning.pytorch.profilers").setLevel(logging.INFO)  # of trainer.profiler
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*is not a supported tensor core.*")


class PrintHandler(logging.Handler):
    """A log handler that prints each message as a line."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), flush=True)
