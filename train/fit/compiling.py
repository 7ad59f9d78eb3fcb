"""Compiling a model, part by part."""

import os
import re
import shutil
import sys
from collections.abc import Iterable

import torch
from torch import nn

from conf.errors import UsageError
from train.config.sections import TrainerConfig
from train.runtime.machine import on_gpu, processor

FOLDER = "TORCHINDUCTOR_CACHE_DIR"


def check_compiler(config: TrainerConfig) -> None:
    """UsageError where a model is to be compiled for a CPU, and nothing here can do it."""
    name = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if config.compile and not on_gpu(config.accelerator) and shutil.which(name) is None:
        raise UsageError(
            f"trainer.compile=true needs a C++ compiler, and there is no {name}: install one, name "
            "it by CXX=..., or leave trainer.compile=false."
        )


def compile_each(parts: Iterable[nn.Module]) -> None:
    """`torch.compile` in place, one graph a part."""
    keep_apart()
    for part in parts:
        part.compile()


def keep_apart() -> None:
    """Let PyTorch look for compiled code in a folder of this processor and instruction set.

    Its key leaves both out: loops written for AVX2 and compiled for AVX-512 take steps that are too short,
    and write past the end; the other way round they leave out half of the numbers.
    """
    from torch._inductor.runtime.cache_dir_utils import cache_dir  # the compiler takes a second to import

    place, processor_name = (
        cache_dir(),
        re.sub(r"\W+", "_", f"{processor()} {torch.backends.cpu.get_cpu_capability()}"),
    )
    if os.path.basename(place) != processor_name:
        os.environ[FOLDER] = os.path.join(place, processor_name)
