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


def test_a_torn_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    write_rows(file, [ROW, ROW])
    file.write_text(file.read_text()[:-20])
    with pytest.raises(UsageError, match="is damaged at line 2"):
        read_rows(file)
