"""results.jsonl: reading gives what was written, without a null."""

from dataclasses import replace
from pathlib import Path

import pytest

from conf.errors import UsageError
from tests.train.results.test_curves import ROW
from train.results.rows import read_rows, write_rows


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    none = replace(ROW, value=None, error=None)
    write_rows(file, [ROW, none, replace(none, value=float("nan"))])
    assert read_rows(file) == [ROW, none, none]


@pytest.mark.parametrize("sign", ["\x1b]0;title\x07", "\x9b2J", "\u202e"])
def test_signs_that_a_terminal_obeys_are_refused(sign: str, tmp_path: Path) -> None:
    write_rows(tmp_path / "results.jsonl", [ROW, replace(ROW, encoding=f"rope{sign}")])
    with pytest.raises(UsageError, match="line 2, holds signs that a terminal would obey"):
        read_rows(tmp_path / "results.jsonl")


def test_a_torn_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    write_rows(file, [ROW, ROW])
    file.write_text(file.read_text()[:-20])
    with pytest.raises(UsageError, match="is damaged at line 2"):
        read_rows(file)
