"""A part of `make cuda-dry-run`, in a process of its own: the driver must load before PyTorch."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
CODE = """
from tests.gpu.driver import leave, load
load()
import torch
from tests.gpu.fake import fake_gpu
with fake_gpu() as gpu:
    a = torch.ones(1 << 20)
    b = a.to("cuda").requires_grad_()  # 4 MB
    c = b.sin()  # 4 MB, b kept
    c.sum().backward()  # the gradient, 4 MB
    del c
    assert (gpu.used >> 20, len(gpu.copies), len(gpu.reads)) == (8, 1, 0), gpu.used
    assert (gpu.peak >> 20, float(b.sum()), len(gpu.reads)) == (16, 1.0, 1), gpu.peak
    try:
        a + b
    except RuntimeError as error:
        assert "to be on the same device" in str(error), error
    else:
        raise AssertionError("Tensors of two devices were added.")
leave()
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(os.environ.get("CXX", "c++")) is None, reason="needs a C++ compiler"),
    pytest.mark.skipif(torch.version.cuda is not None, reason="needs PyTorch's build for CPUs"),
]

RUN = """
from tests.gpu.driver import leave, load
load()
from tests.gpu.dry_run import RUNS, run
from tests.gpu.fake import fake_gpu
with fake_gpu() as gpu:
    (settings,) = (settings for settings in RUNS if "objective=mlm" in settings)
    failed = run(settings, gpu)
print(failed)
leave(bool(failed))
"""


@pytest.mark.parametrize(
    "command",
    [["-c", CODE], ["-c", RUN], ["-m", "tests.gpu", "--only", "rope", "alibi_learned", "dape_kerple"]],
)
def test_dry_run(command: list[str]) -> None:
    """Memory, reads and copies are counted; no step waits; methods of every kernel train and evaluate."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
