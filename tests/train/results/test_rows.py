"""results.jsonl: reading gives what was written, without a null; a torn last line is left out."""

from dataclasses import replace
from pathlib import Path

from tests.train.results.test_curves import ROW
from train.results.rows import append_rows, read_rows


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    none = replace(ROW, value=None, error=None)
    append_rows(file, [ROW])
    append_rows(file, [none, replace(none, value=float("nan"))])
    assert read_rows(file) == [ROW, none, none]


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    append_rows(file, [ROW, ROW])
    file.write_text(file.read_text()[:-20])
    assert read_rows(file) == [ROW]
