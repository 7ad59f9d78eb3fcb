"""What is found out about a machine."""

import os
import platform
import subprocess
import sys

import pytest

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
