"""Compiled code is used where it was made for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from train.compiling import FOLDER, keep_apart


def test_a_folder_is_found_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    keep_apart()
    found = Path(os.environ[FOLDER])
    assert found.parent == tmp_path
    keep_apart()
    assert Path(os.environ[FOLDER]) == found
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "ANOTHER")
    keep_apart()
    assert Path(os.environ[FOLDER]) != found


def test_without_a_compiler_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch, mistake: Callable[..., str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", f"{tmp_path}/g++")
    run = ["encoding=rope", "trainer=cpu", f"outputs={tmp_path}"]
    assert "needs a C++ compiler" in mistake(*run, "trainer.compile=true")
    assert not list(tmp_path.glob("trained/*"))
