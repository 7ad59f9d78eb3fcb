"""The context of a run, which its training and all evaluations share, and the settings of this process."""

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer

from data.source import Source
from train.config.sections import EvaluationConfig, TrainerConfig
from train.fit.objective import Objective, objective_of
from train.fit.recipe import Recipe
from train.runtime.machine import keep_memory, resolved_precision
from train.runtime.processes import ExitCodes

Log = Callable[[str, int, dict[str, float]], None]  # section, such as train, step, values by name


def ignore(section: str, step: int, values: dict[str, float]) -> None:
    """Do nothing with logged values."""


@dataclass(frozen=True)
class Run:
    """The parts of a run that its training shares with every evaluation."""

    source: Source
    recipe: Recipe
    knobs: TrainerConfig
    evaluation: EvaluationConfig
    log: Log = ignore

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


def trainer(config: TrainerConfig, precision: str, **more: Any) -> Trainer:
    """Return Lightning's Trainer for training and for evaluation."""
    return Trainer(
        accelerator=config.accelerator,
        devices=config.devices,
        num_nodes=config.num_nodes,
        strategy="ddp" if config.is_distributed else config.strategy,
        precision=precision,  # type: ignore[arg-type]  # is one of those it lists
        logger=False,
        enable_checkpointing=False,  # train.fit.trainer has its own
        enable_progress_bar=False,  # it does not know how many steps there are: train.runtime.progress
        enable_model_summary=False,
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        max_epochs=-1,
        **more,
    )


def prepare_process(threads: int | str) -> None:
    """Set the number of threads (or `auto`), and how this process handles memory, denormals and messages."""
    quiet()
    if isinstance(threads, int):
        torch.set_num_threads(threads)
    keep_memory()
    torch.set_flush_denormal(True)  # weights of far keys underflow; denormals are several times slower


def quiet() -> None:
    """Silence Lightning's tips and intended warnings, but show messages about the data."""
    messages = logging.getLogger("data")
    if not messages.handlers:
        messages.addHandler(PrintHandler())
        messages.setLevel(logging.INFO)
    for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("lightning.pytorch.profilers").setLevel(logging.INFO)  # trainer.flags.profiler
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*is not a supported tensor core.*")


class PrintHandler(logging.Handler):
    """A log handler that prints each message as a line."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), flush=True)
