"""A short form of `make fuzz`."""

from pathlib import Path

from tests.fuzz.__main__ import outcomes


def test_command_lines_run_or_are_refused_in_a_sentence(tmp_path: Path) -> None:
    found = outcomes(40, 7, tmp_path)
    assert [(words, end) for words, end in found if end not in ("accepted", "refused")] == []
