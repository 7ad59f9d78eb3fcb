"""Reports without pictures, which take most of the time."""

import shutil
import sys

import pytest


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is its table alone: the process that draws fails."""
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
