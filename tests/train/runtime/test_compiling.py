"""Compiled code is used where it was made for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from train.runtime.machine import COMPILED, compile_each


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


def test_without_a_compiler_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch, mistake: Callable[..., str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", f"{tmp_path}/g++")
    run = ["encoding=rope", "trainer=cpu", f"outputs={tmp_path}"]
    assert "needs a C++ compiler" in mistake(*run, "trainer.compile=true")
    assert not list(tmp_path.glob("trained/*"))
