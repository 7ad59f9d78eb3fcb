"""Reports without pictures, which take most of the time."""

import shutil
import sys

import pytest


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process that draws fail: a report is its table alone."""
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
