"""Lightning's Trainer over the processes of a run, and what those processes have in common."""

from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import ModelParallelStrategy
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from conf.errors import UsageError
from train.config.sections import TrainerConfig
from train.runtime.machine import keep_memory
from train.runtime.process import quiet


def trainer(config: TrainerConfig, precision: str, **flags: Any) -> Trainer:
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
        return Trainer(**settings | flags)
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


def training_strategy(config: TrainerConfig, has_parameters: bool) -> Any:
    """Return the strategy for Lightning's Trainer: by its name, or FSDP2 for `fsdp`. Encodings that have
    parameters may leave some without a gradient, in layers with whole positions or under an extension."""
    if config.strategy == "fsdp":  # Lightning's first FSDP has this name, and excludes `training_step`
        count = config.devices if isinstance(config.devices, int) else torch.cuda.device_count()
        return ModelParallelStrategy(count * config.num_nodes, 1, save_distributed_checkpoint=False)
    if config.strategy == "auto" and config.is_distributed:
        return "ddp_find_unused_parameters_true" if has_parameters else "ddp"
    return config.strategy


def prepare_process(threads: int | str) -> None:
    """Set the number of threads (or `auto`), and how this process handles memory, denormals and messages."""
    quiet()
    if isinstance(threads, int):
        torch.set_num_threads(threads)
    keep_memory()
    torch.set_flush_denormal(True)  # weights of far keys underflow; denormals are several times slower
