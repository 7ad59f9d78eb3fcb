"""What the machine can do: precision, memory, processes."""

import ctypes
import os
import re
from pathlib import Path

import torch


def resolved(requested: str, accelerator: str) -> str:
    """`auto` becomes bf16-mixed where the hardware has bfloat16, else 32-true (16-mixed on older GPUs)."""
    on_gpu = accelerator in ("gpu", "cuda") or (accelerator == "auto" and torch.cuda.is_available())
    if requested == "16-mixed" and not on_gpu:
        raise ValueError("trainer.precision=16-mixed needs a GPU: choose bf16-mixed or 32-true.")
    if requested != "auto":
        return requested
    if on_gpu:
        return "bf16-mixed" if torch.cuda.is_bf16_supported() else "16-mixed"
    has_bfloat16 = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16-mixed" if has_bfloat16 else "32-true"


def keep_memory() -> None:
    """Let glibc keep what large tensors free: else logits are mapped and cleared anew at every step."""
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return  # not glibc
    mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
    mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD


def forget_peak() -> None:
    """Start the measurement of `peak_memory` anew."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    elif os.access("/proc/self/clear_refs", os.W_OK):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int | None:
    """Bytes: allocated on the GPU, or resident on the CPU; None where neither can be told."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else None


def rank() -> int:
    """Which of a run's processes this is."""
    for name in ("RANK", "SLURM_PROCID", "LOCAL_RANK"):
        if name in os.environ:
            return int(os.environ[name])
    return 0
