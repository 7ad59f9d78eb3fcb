"""A short form of `make fuzz`."""

from pathlib import Path

from tests.fuzz.__main__ import tried
from tests.fuzz.outcome import RIGHT


def test_command_lines_run_or_are_refused_in_a_sentence(tmp_path: Path) -> None:
    assert [(words, how) for words, how in tried(60, 7, tmp_path) if how.kind not in RIGHT] == []
