"""What glibc does with the memory of freed tensors, in a process of its own."""

import subprocess
import sys

import pytest

from train.runtime.machine import LONG

CODE = """
import resource
from pathlib import Path

import torch
from train.runtime.machine import keep_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

def freed():
    "Return how many of 16 x 12 MB are returned, with small tensors between them that stay."
    held, large = [], []
    for _ in range(16):
        large.append(torch.ones(3 << 20))
        held.append(torch.ones(100))
    before = resident()
    del large
    return (before - resident()) / (16 * 12 << 20)

keep_memory({length})
print(freed())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_memory_of_short_sequences_is_kept_and_that_of_long_ones_returned() -> None:
    for length, expected in ((LONG, 0.0), (LONG + 1, 1.0)):
        code = CODE.replace("{length}", str(length))
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert float(result.stdout) == pytest.approx(expected, abs=0.1)
