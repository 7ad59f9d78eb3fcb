"""The model of a processor, and not a clock, decides which library multiplies."""

from pathlib import Path

import pytest
import torch

from models.ops import processor

BOTH = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()


@pytest.mark.parametrize(
    ("vendor", "slow"),
    [("GenuineIntel", False), ("AuthenticAMD", BOTH), ("HygonGenuine", BOTH), (None, BOTH)],
)
def test_mkl_is_made_for_intel(
    vendor: str | None, slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpuinfo"
    if vendor is not None:
        file.write_text(f"processor : 0\nvendor_id : {vendor}\n")
    monkeypatch.setattr(processor, "CPUINFO", file)
    on_windows = "AMD64 Family 26 Model 2, AuthenticAMD"  # than on Linux
    monkeypatch.setattr(processor.platform, "processor", lambda: on_windows)
    assert processor.is_mkl_slow.__wrapped__() == slow


@pytest.mark.parametrize(
    ("limit", "vector", "found"),
    [
        ("", "AVX512", ["tiles", "pairs"]),
        ("ALL", "AVX512", ["tiles", "pairs"]),
        ("AVX512_CORE_AMX", "AVX512", ["tiles", "pairs"]),
        ("AVX512_CORE_BF16", "AVX512", ["pairs"]),
        ("AVX512_CORE_FP16", "AVX512", ["pairs"]),
        ("AVX512_CORE", "AVX512", []),
        ("AVX2", "AVX512", []),
        ("", "AVX2", []),
        ("", "DEFAULT", []),
    ],
)
def test_loops_in_c_heed_the_limit_that_onednn_is_given(
    limit: str, vector: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setenv("DNNL_MAX_CPU_ISA", limit)
    monkeypatch.setattr(processor, "has_tiles", lambda: True)
    monkeypatch.setattr(processor, "is_bfloat16_by_onednn", lambda: True)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: vector)
    assert processor.bfloat16_by() == found
    monkeypatch.setattr(processor, "is_bfloat16_by_onednn", lambda: False)
    assert processor.bfloat16_by() == [way for way in found if way == "tiles"]
    monkeypatch.setattr(processor, "has_tiles", lambda: False)
    assert processor.bfloat16_by() == []
