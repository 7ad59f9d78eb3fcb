"""Compiled code runs only where it was compiled for."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from torch._inductor.runtime.runtime_utils import default_cache_dir

from train.runtime.machine import COMPILED, compile_each

NORM = """
import torch
from train.runtime.machine import compile_each

class Norm(torch.nn.Module):
    def forward(self, x):
        return x / x.square().mean(-1, keepdim=True)

norm, x = Norm(), torch.randn(64, 64)
expected = norm(x)
compile_each([norm])
assert torch.allclose(norm(x), expected)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_one_cache_for_several_instruction_sets(tmp_path: Path) -> None:
    """Without a folder for each, the second process computes NaN, or dies in the other order."""
    for name in ("avx512", "avx2") if torch.cpu._is_avx512_supported() else ("avx2", "default"):
        environment = os.environ | {COMPILED: str(tmp_path), "ATEN_CPU_CAPABILITY": name}
        line = [sys.executable, "-c", NORM]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_folder_is_found_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(COMPILED, str(tmp_path))
    compile_each([])
    found = Path(os.environ[COMPILED])
    assert found.parent == tmp_path
    compile_each([])
    assert Path(os.environ[COMPILED]) == found
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "ANOTHER")
    compile_each([])
    assert Path(os.environ[COMPILED]) != found


def test_the_place_that_pytorch_chooses_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is set by an import of PyTorch, as if the user had named it, and others may write there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    own = Path(default_cache_dir())
    monkeypatch.setenv(COMPILED, str(own))
    compile_each([])
    assert Path(os.environ[COMPILED]).parent == tmp_path / "cache/yardstick/inductor"
    for folder in (own, tmp_path / "cache/yardstick"):
        folder.chmod(0o777)
        monkeypatch.setenv(COMPILED, str(own))
        with pytest.raises(OSError, match=f"{folder} is not yours alone"):
            compile_each([])
        folder.chmod(0o700)
