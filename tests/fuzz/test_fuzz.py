"""A short form of `make fuzz`."""

from pathlib import Path

from tests.fuzz.__main__ import tried


def test_command_lines_run_or_are_refused_in_a_sentence(tmp_path: Path) -> None:
    assert [(words, how) for words, how in tried(60, 7, tmp_path) if not how.is_right] == []
