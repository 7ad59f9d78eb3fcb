"""The instruction sets of a processor, to which libraries can be limited."""

import os
from collections.abc import Callable

import torch

LIMITS: dict[str, tuple[str, str, Callable[[], bool]]] = {  # what oneDNN and others call each instruction set
    "amx": ("AVX512_CORE_AMX", "avx512", torch.cpu._is_amx_tile_supported),
    "avx512_bf16": ("AVX512_CORE_BF16", "avx512", torch.cpu._is_avx512_bf16_supported),
    "avx512": ("AVX512_CORE", "avx512", torch.cpu._is_avx512_supported),
    "avx2": ("AVX2", "avx2", torch.cpu._is_avx2_supported),
}


def instruction_sets() -> list[str]:
    """Return the instruction sets of this processor, the largest first; an empty name for GPUs and other
    processors."""
    sets = [name for name, (*_, has) in LIMITS.items() if has()]
    return [""] if torch.cuda.is_available() or not sets else sets


def limited_environment(isa: str) -> dict[str, str]:
    """Return the environment of a process whose libraries use at most an instruction set."""
    if not isa:
        return dict(os.environ)
    onednn, others, _ = LIMITS[isa]
    limits = {"DNNL_MAX_CPU_ISA": onednn, "ATEN_CPU_CAPABILITY": others}
    return os.environ | limits | {"MKL_ENABLE_INSTRUCTIONS": others.upper()}
