"""Checks of the machine: devices, compilers, kernels, flags and memory must suffice for the settings."""

import inspect
import os
import shutil
import sys

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from conf.errors import UsageError
from models import cpu as native
from models.gpt import GPT
from train.config.schema import Config
from train.config.validation import did_you_mean
from train.runtime import machine
from train.runtime.quota import memory

RESERVED = frozenset({  # flags of Lightning's Trainer that Yardstick sets
    "accelerator", "devices", "num_nodes", "strategy", "precision", "logger", "enable_checkpointing",
    "callbacks", "enable_progress_bar", "enable_model_summary", "use_distributed_sampler", "plugins",
    "num_sanity_val_steps", "max_epochs", "max_steps", "accumulate_grad_batches", "default_root_dir",
})  # fmt: skip
WEIGHT, STATE = 4, 16  # bytes of a parameter; with its gradient and the two moments of AdamW


def check_machine(config: Config, model: GPT) -> None:
    """Raise UsageError if a requested device, compiler, kernel or flag is missing, or if memory is too small
    for the model, of which `model` is the first layers."""
    kernel, knobs = config.model.kernel, config.trainer
    is_on_gpu = machine.is_on_gpu(knobs.accelerator)
    counts = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    counts["gpu"] = max(counts.values())
    if counts["gpu"]:
        counts["auto"] = counts["gpu"]
    count = counts.get(knobs.accelerator)
    if count is not None and count < (knobs.devices if isinstance(knobs.devices, int) else 1):
        raise UsageError(
            f"trainer.accelerator={knobs.accelerator} with trainer.devices={knobs.devices}, but this "
            f"machine has {count or 'none'}: choose {'fewer, or ' if count else ''}trainer=cpu."
        )
    machine.resolved_precision(knobs.precision, knobs.accelerator)  # an error where it needs a GPU
    flags = set(inspect.signature(Trainer).parameters) - RESERVED
    for flag in knobs.flags:
        if flag not in flags:
            why = "is set by other settings" if flag in RESERVED else "is no flag of Lightning's Trainer"
            raise UsageError(f"trainer.flags.{flag} {why}.{did_you_mean(flag, flags)}")
    if knobs.flags:
        try:
            Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, **knobs.flags)
        except (MisconfigurationException, TypeError, ValueError) as error:
            raise UsageError(f"Lightning's Trainer refuses trainer.flags: {error}") from None
    name = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if knobs.compile and not is_on_gpu and shutil.which(name) is None:
        raise UsageError(
            f"trainer.compile=true needs a C++ compiler, and there is no {name}: install one, name "
            "it by CXX=..., or leave trainer.compile=false."
        )
    if kernel == "flex" and config.run is None and not is_on_gpu:
        raise UsageError("model.kernel=flex has gradients on CUDA alone: choose model.kernel=auto.")
    if kernel == "fused" and (is_on_gpu or native.is_missing()):
        raise UsageError("model.kernel=fused needs a CPU and a C compiler: choose model.kernel=auto.")
    check_memory(config, model)


def check_memory(config: Config, model: GPT) -> None:
    """Raise UsageError if the memory is too small even for the weights, or for one step's hidden states."""
    sizes = [sum(p.numel() for p in module.parameters()) for module in (model, model.blocks[0])]
    parameters = sizes[0] + (config.model.depth - len(model.blocks)) * sizes[1]
    knobs, room = config.trainer, memory()
    sequences = config.batch // (knobs.processes * knobs.accumulate)
    states = 4 * sequences * config.model.length * config.model.width * config.model.depth
    needed = {f"{parameters:,} parameters": parameters * STATE, "the hidden states of a step": states}
    if torch.cuda.is_available() and knobs.accelerator != "cpu":
        needed = {f"{parameters:,} parameters": parameters * WEIGHT}  # they start in the machine's memory
    for item, size in needed.items():
        if size > room:
            raise UsageError(
                f"model.vocab={config.model.vocab}, model.width={config.model.width}, model.depth="
                f"{config.model.depth}, model.length={config.model.length} and batch={config.batch}: {item} "
                f"need {size / 1e9:,.0f} GB or more, this machine has {room / 1e9:,.0f}: lower one of them."
            )
