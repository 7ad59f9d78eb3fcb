"""Reports without pictures, which take most of the time."""

import pytest

from sweeps.drawing.figure import Figure


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a report draw its page and no files."""
    monkeypatch.setattr(Figure, "save", lambda figure, folder: [])
