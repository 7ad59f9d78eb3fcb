"""The machine and its abilities: precision, memory, processor, compiled code."""

import ctypes
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

from conf.errors import UsageError
from models import cpu as native
from models.ops.processor import bfloat16_by

COMPILED = "TORCHINDUCTOR_CACHE_DIR"
LIMITS = ("MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # of the instructions that libraries use
LONG = 8_192  # tokens; see `keep_memory`


def resolved_precision(requested: str, accelerator: str) -> str:
    """Return the precision; `auto` is bf16-mixed where the processor or the GPU multiplies faster in it, else
    32-true (16-mixed on older GPUs).

    What the hardware has decides, not a timing, so that the processes of a run and its repetitions agree.
    """
    gpu = is_on_gpu(accelerator)
    if requested == "16-mixed" and not gpu:
        raise UsageError("trainer.precision=16-mixed needs a GPU: choose bf16-mixed or 32-true.")
    if requested != "auto":
        return requested
    if gpu:
        return "bf16-mixed" if torch.cuda.is_bf16_supported() else "16-mixed"
    return "bf16-mixed" if bfloat16_by() else "32-true"


def is_on_gpu(accelerator: str) -> bool:
    """Return whether an accelerator means CUDA on this machine."""
    return accelerator in ("gpu", "cuda") or (accelerator == "auto" and torch.cuda.is_available())


def keep_memory(length: int = 0) -> None:
    """Let glibc keep the memory of freed tensors; otherwise it maps and clears logits anew at every step.

    For sequences longer than LONG it returns the memory: the holes between tensors would be a tenth of all,
    and clearing takes little beside attention.
    """
    try:
        glibc = ctypes.CDLL("libc.so.6")
        glibc.mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD
        glibc.mallopt(-3, 1 << (20 if length > LONG else 30))  # M_MMAP_THRESHOLD
        if length > LONG:
            glibc.malloc_trim(0)  # what was kept until now
    except (OSError, AttributeError):
        return  # another library


def reset_peak_memory() -> None:
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    elif os.access("/proc/self/clear_refs", os.W_OK):
        Path("/proc/self/clear_refs").write_text("5", "utf-8")


def peak_memory() -> int | None:
    """Return the most bytes allocated on the GPU, or resident on the CPU; None if unknown."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    status = Path("/proc/self/status")
    match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text("utf-8")) if status.exists() else None
    return int(match[1]) * 1024 if match else None


def description() -> str:
    """Return the machine in one line, with the instructions in use, on which the order of sums depends."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    without = ", no C compiler" if native.lacks_compiler() else ""
    limits = "".join(f", {name}={os.environ[name]}" for name in LIMITS if name in os.environ)
    used = f"{torch.backends.cpu.get_cpu_capability()}{limits}"
    return (
        f"{processor()}, {used}, {os.cpu_count()} cores, {gpu}, Python {platform.python_version()}{without}"
    )


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def compile_each(parts: Iterable[nn.Module]) -> None:
    """Compile parts in place, each as one graph, with a cache for this processor and instruction set.

    PyTorch's cache key lacks both. Loops written for AVX2 and compiled for AVX-512 take steps that are too
    short, and write past the end; in the other direction they skip half of the numbers. PyTorch's own place,
    in the system's temporary folder, may be another user's. Raise OSError if this one is.
    """
    from torch._inductor.runtime.runtime_utils import default_cache_dir

    default = native.private(Path(default_cache_dir()))  # PyTorch keeps its headers there, whatever is chosen
    chosen = Path(os.environ.get(COMPILED) or default)  # which it sets to the default when it is imported
    folder = native.folder() / "inductor" if chosen == default else chosen
    name = re.sub(r"\W+", "_", f"{processor()} {torch.backends.cpu.get_cpu_capability()}")
    os.environ[COMPILED] = str(folder if folder.name == name else folder / name)
    for part in parts:
        part.compile()
