"""Compiling a model, part by part."""

import os
import re
from collections.abc import Iterable

import torch
from torch import nn

from train.machine import processor

FOLDER = "TORCHINDUCTOR_CACHE_DIR"


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

    place, own = cache_dir(), re.sub(r"\W+", "_", f"{processor()} {torch.backends.cpu.get_cpu_capability()}")
    if os.path.basename(place) != own:
        os.environ[FOLDER] = os.path.join(place, own)
