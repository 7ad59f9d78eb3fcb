"""Compiling a model, part by part."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

from train.runtime.machine import processor

FOLDER = "TORCHINDUCTOR_CACHE_DIR"


def compile_each(parts: Iterable[nn.Module]) -> None:
    """Compile in place, one graph a part, with a cache for this processor and instruction set.

    PyTorch's key leaves both out: loops written for AVX2 and compiled for AVX-512 take steps that are too
    short, and write past the end; the other way round they leave out half of the numbers.
    """
    from torch._inductor.runtime.cache_dir_utils import cache_dir  # the compiler takes a second to import

    folder = Path(cache_dir())
    name = re.sub(r"\W+", "_", f"{processor()} {torch.backends.cpu.get_cpu_capability()}")
    os.environ[FOLDER] = str(folder if folder.name == name else folder / name)
    for part in parts:
        part.compile()
