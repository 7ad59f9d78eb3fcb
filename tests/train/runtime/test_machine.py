"""The description of a machine."""

import os
import platform
import subprocess
import sys

import pytest
import torch
from torch import Tensor

from train.runtime import machine

ASKED = "from train.runtime.machine import resolved_precision; print(resolved_precision('auto', 'cpu'))"


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="oneDNN's names of x86 instructions"
)
def test_float32_where_bfloat16_is_emulated() -> None:
    limited = os.environ | {"DNNL_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "2"}
    found = subprocess.run(
        [sys.executable, "-c", ASKED], env=limited, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "32-true"


def test_precision_is_measured_on_numbers_while_a_model_without_values_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    devices = set()

    def product(a: Tensor, b: Tensor) -> Tensor:
        devices.update({a.device.type, b.device.type})
        return a @ b

    monkeypatch.setattr(machine, "product", product)
    with torch.device("meta"):
        machine.bfloat16_gain.__wrapped__()
    assert devices == {"cpu"}
