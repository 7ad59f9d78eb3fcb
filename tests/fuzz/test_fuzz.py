"""A short form of `make fuzz`."""

from pathlib import Path

from tests.fuzz.__main__ import outcomes
from tests.fuzz.outcome import RIGHT


def test_command_lines_run_or_are_refused_in_a_sentence(tmp_path: Path) -> None:
    wrong = [(words, end) for words, end in outcomes(60, 7, tmp_path) if end.kind not in RIGHT]
    assert wrong == []
