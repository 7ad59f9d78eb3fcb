"""Which library multiplies well on this processor.

By its make, as timing would let processes that are compared, or repeated, round differently (decision 0031).
"""

import platform
from functools import cache
from pathlib import Path

import torch

CPUINFO = Path("/proc/cpuinfo")
FOREIGN = "AuthenticAMD", "HygonGenuine"  # to MKL, which is made for Intel's


@cache
def mkl_is_slow() -> bool:
    """Whether PyTorch multiplies by MKL on a processor that this leaves half unused, and oneDNN does not."""
    known = CPUINFO.read_text() if CPUINFO.exists() else platform.processor()
    both = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    return both and any(name in known for name in FOREIGN)


def bfloat16_by_onednn() -> bool:
    """Whether flash attention in bfloat16 goes through MKL where oneDNN has instructions for it."""
    return mkl_is_slow() and torch.cpu._is_avx512_bf16_supported()
