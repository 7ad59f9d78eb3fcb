"""Lightning's Trainer over the processes of a run, and what those processes have in common."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import ModelParallelStrategy
from lightning.pytorch.strategies.launchers import _SubprocessScriptLauncher
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from conf.errors import UsageError
from train.config.sections import TrainerConfig
from train.runtime.environment import quiet
from train.runtime.machine import keep_memory
from train.runtime.ranks import is_connected
from train.runtime.signals import ending, handle

GRACE = 10.0  # seconds in which a lost connection shows; NCCL may hang instead


class Children:
    """The processes that this process started for its run, if any: which one died, and how. torchrun and
    SLURM report this for theirs."""

    def __init__(self) -> None:
        self.by_rank: dict[int, subprocess.Popen[bytes]] = {}

    def failure(self) -> str | None:
        """Return which child process failed, and how; one that was killed by a signal comes first."""
        codes = {rank: child.poll() for rank, child in self.by_rank.items()}
        failed = sorted((code, rank) for rank, code in codes.items() if code)
        return f"Process {failed[0][1]} of this run {ending(failed[0][0])}." if failed else None

    def watch(self) -> None:
        """End this process and its children if a child failed and this process hangs."""
        while not (failure := self.failure()):
            time.sleep(1)
        time.sleep(GRACE)
        print(f"yardstick: {failure}", file=sys.stderr, flush=True)
        for child in self.by_rank.values():
            child.kill()
        os._exit(1)

    @contextmanager
    def name_failure(self) -> Iterator[None]:
        """Raise ChildProcessError if a connection is lost in the block because a child process ended."""
        try:
            yield
        except RuntimeError as error:
            if "LOCAL_RANK" not in os.environ and not is_connected():  # it is alone
                raise
            handle()  # the training, which would end after its step, is over
            is_child = os.environ.get("LOCAL_RANK", "0") != "0"  # which waits for the parent to stop it
            end = time.monotonic() + (GRACE / 2 if self.by_rank or is_child else 0)
            while time.monotonic() < end:
                if failure := self.failure():
                    raise ChildProcessError(failure) from error
                time.sleep(0.05)
            raise


class Launcher(_SubprocessScriptLauncher):
    """Lightning's launcher. Its own observer of the processes would kill this one without a message."""

    def __init__(self, launcher: _SubprocessScriptLauncher, children: Children) -> None:
        super().__init__(launcher.cluster_environment, launcher.num_processes, launcher.num_nodes)
        self.children = children

    def _call_children_scripts(self) -> None:
        super()._call_children_scripts()
        first = self.cluster_environment.node_rank() * self.num_processes + 1
        self.children.by_rank = dict(enumerate(self.procs, first))
        self.procs = []  # what Lightning observes
        Thread(target=self.children.watch, name="children", daemon=True).start()


def trainer(config: TrainerConfig, precision: str, children: Children | None = None, **flags: Any) -> Trainer:
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
        result = Trainer(**settings | flags)
    except (MisconfigurationException, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise UsageError(f"Lightning refuses the settings of trainer: {reason}.") from error
    launcher = result.strategy.launcher
    if isinstance(launcher, _SubprocessScriptLauncher):
        result.strategy._launcher = Launcher(launcher, children or Children())
    return result


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
