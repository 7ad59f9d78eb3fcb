"""results.jsonl: what was written is read; a torn last line is left out; any other damage is said."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.train.results.test_curves import ROW
from train.results.rows import append, read_rows


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    rows = [ROW, replace(ROW, value=None, error=None)]
    append(file, rows[:1])
    append(file, rows[1:])
    assert read_rows(file) == rows


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    append(tmp_path / "r", [replace(ROW, value=float("nan"))])
    assert read_rows(tmp_path / "r")[0].value is None


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    append(file, [ROW, ROW])
    file.write_text(file.read_text()[:-20])
    assert read_rows(file) == [ROW]


def test_other_damage_is_said(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    append(file, [ROW, ROW])
    file.write_text("x" + file.read_text())
    with pytest.raises(ValueError, match="damaged at line 1"):
        read_rows(file)
