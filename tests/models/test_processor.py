"""The make of a processor, not a clock, says which library multiplies."""

from pathlib import Path

import pytest
import torch

from models import processor

BOTH = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()


@pytest.mark.parametrize(
    ("vendor", "slow"),
    [("GenuineIntel", False), ("AuthenticAMD", BOTH), ("HygonGenuine", BOTH), (None, False)],
)
def test_mkl_is_made_for_intel(
    vendor: str | None, slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpuinfo"
    if vendor is not None:
        file.write_text(f"processor : 0\nvendor_id : {vendor}\n")
    monkeypatch.setattr(processor, "CPUINFO", file)
    monkeypatch.setattr(processor.platform, "processor", lambda: "arm")
    assert processor.mkl_is_slow.__wrapped__() == slow


def test_elsewhere_than_on_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "CPUINFO", tmp_path / "missing")
    monkeypatch.setattr(processor.platform, "processor", lambda: "AMD64 Family 26 Model 2, AuthenticAMD")
    assert processor.mkl_is_slow.__wrapped__() == BOTH
