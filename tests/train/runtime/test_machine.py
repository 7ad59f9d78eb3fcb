"""The precision that `auto` means follows from what the processor has, and from nothing else."""

import pytest
import torch

from models.ops import processor
from train.runtime.machine import description, resolved_precision


@pytest.mark.parametrize(
    ("has_tiles", "has_pairs", "is_foreign_to_mkl", "expected"),
    [
        (True, True, False, "bf16-mixed"),
        (False, True, True, "bf16-mixed"),
        (False, True, False, "32-true"),  # slower than float32, as measured
        (False, False, True, "32-true"),
    ],
)
def test_the_instructions_decide(
    has_tiles: bool, has_pairs: bool, is_foreign_to_mkl: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has_pairs)
    monkeypatch.setattr(processor, "has_tiles", lambda: has_tiles)
    monkeypatch.setattr(processor, "is_mkl_slow", lambda: is_foreign_to_mkl)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.delenv("DNNL_MAX_CPU_ISA", raising=False)
    assert resolved_precision("auto", "cpu") == expected


def test_instructions_that_are_switched_off_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DNNL_MAX_CPU_ISA", "AVX2")
    assert resolved_precision("auto", "cpu") == "32-true"
    assert resolved_precision("bf16-mixed", "cpu") == "bf16-mixed"


def test_the_machine_names_the_instructions_on_which_rounding_depends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert f", {torch.backends.cpu.get_cpu_capability()}" in description()
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    assert "MKL_CBWR=COMPATIBLE" in description()
