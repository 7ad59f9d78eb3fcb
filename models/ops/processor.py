"""The processor: its fastest library for products, and how many numbers to hold at a time.

The make of the processor decides, not a timing, so that processes that are compared or repeated round alike
(decision 0031).
"""

import os
import platform
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

CPUINFO = Path("/proc/cpuinfo")
ON_GPU = 1 << 25  # numbers, 128 MB in float32: small products are slow there
FOREIGN = "AuthenticAMD", "HygonGenuine"  # to MKL, which is made for Intel's


@cache
def is_mkl_slow() -> bool:
    """Return whether PyTorch multiplies by MKL on a processor that MKL, unlike oneDNN, leaves half unused."""
    known = CPUINFO.read_text("utf-8") if CPUINFO.exists() else platform.processor()
    both = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    return both and any(name in known for name in FOREIGN)


def bfloat16_by() -> list[str]:
    """Return the ways in which loops in C multiply bfloat16, fastest first: TILES, or PAIRS if faster than
    float32."""
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA") or "ALL"
    ways = {"tiles": ("AMX", "ALL", "DEFAULT"), "pairs": ("16", "AMX", "ALL", "DEFAULT")}
    able: dict[str, Callable[[], bool]] = {"tiles": has_tiles, "pairs": is_bfloat16_by_onednn}
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return []
    return [way for way, words in ways.items() if any(word in limit for word in words) and able[way]()]


@cache
def has_tiles() -> bool:
    """Return whether the processor has AMX tiles; a process must ask the system for them."""
    return torch.cpu._is_amx_tile_supported() and torch.cpu._init_amx()


def is_bfloat16_by_onednn() -> bool:
    """Return whether flash attention in bfloat16 goes through MKL although oneDNN has instructions for it."""
    return is_mkl_slow() and torch.cpu._is_avx512_bf16_supported()


def budget_of(x: Tensor, on_cpu: int, on_gpu: int | None = None) -> int:
    """Return how many numbers of the type of x may be held at a time, besides those kept for a gradient."""
    return (on_gpu or ON_GPU) if x.is_cuda else on_cpu
