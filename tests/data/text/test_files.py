"""Text files of the user, in every form."""

import csv
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.text import files
from data.text.files import Files
from train.paths import ROOT

ROWS = [{"text": "first", "body": "premier", "n": 1}, {"text": "second", "body": "deuxième", "n": 2}]


def texts_of(path: Path | str, **changes: Any) -> list[tuple[str, str]]:
    return [(d.source, d.text) for d in Files(name="files", path=str(path), **changes).documents()]


def plain(file: Path) -> None:
    file.write_text("first\nsecond")


def jsonl(file: Path) -> None:
    file.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")


def json_list(file: Path) -> None:
    file.write_text(json.dumps(ROWS, indent=1))


def table(file: Path) -> None:
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(ROWS[0]), delimiter="\t" if file.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(ROWS)


def parquet(file: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), file)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize(
    ("name", "write", "texts"),
    [
        ("README", plain, {"README": "first\nsecond"}),
        ("a.jsonl", jsonl, {"a.jsonl:1": "first", "a.jsonl:2": "second"}),
        ("a.parquet", parquet, {"a.parquet:1": "first", "a.parquet:2": "second"}),
        ("a.json", json_list, {"a.json:1": "first", "a.json:2": "second"}),
        ("b.json", jsonl, {"b.json:1": "first", "b.json:2": "second"}),
        ("a.csv", table, {"a.csv:1": "first", "a.csv:2": "second"}),
        ("a.tsv", table, {"a.tsv:1": "first", "a.tsv:2": "second"}),
    ],
)
def test_every_form_is_read(
    tmp_path: Path, name: str, write: Callable[[Path], None], texts: dict[str, str], packed: bool
) -> None:
    file = tmp_path / name
    write(file)
    if packed and write is not parquet:  # which is packed by itself
        file = tmp_path / f"{name}.gz"
        file.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        texts = {source.replace(name, file.name): text for source, text in texts.items()}
    assert dict(texts_of(file)) == texts
    if write is not plain:
        assert [text for _, text in texts_of(file, text_key="body")] == ["premier", "deuxième"]


def test_a_folder_is_read_in_order_without_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b/2.txt", "a/1.md", "c.jsonl", ".git/config", "b/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"text": name}))
    assert [source for source, _ in texts_of(tmp_path)] == ["a/1.md", "b/2.txt", "c.jsonl:1"]


@pytest.mark.parametrize(
    ("pattern", "sources"), [("**/*.txt", ["a/1.txt", "b/2.txt"]), ("?/1.*", ["a/1.txt"]), ("a/*", ["1.txt"])]
)
def test_a_pattern_chooses(tmp_path: Path, pattern: str, sources: list[str]) -> None:
    for name in ("a/1.txt", "b/2.txt", "c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [source for source, _ in texts_of(tmp_path / pattern)] == sources


def test_a_home_folder_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.txt").write_text("words")
    assert texts_of("~/a.txt") == [("a.txt", "words")]


def test_a_row_without_text_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": "words"}\n')
    assert texts_of(tmp_path / "a.jsonl") == [("a.jsonl:2", "words")]


def test_a_path_is_needed() -> None:
    with pytest.raises(ValueError, match=r"data=files needs data.path: give a file, a folder or a pattern"):
        list(Files(name="files", path=None).documents())


# without a time in it: workers must see the same names of tests
TORN = gzip.compress(b'{"text": "a"}\n' * 99, mtime=0)[:-12]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (None, b"", "does not exist: give a file"),
        ("empty/.keep", b"", "holds no text"),
        ("a.txt", b"caf\xe9", "a.txt is not UTF-8 text: convert it"),
        ("a.bin", b"\0\1\2", "a.bin is not text"),
        ("a.jsonl", b'{"text": "ok"}\n{"text": ', "a.jsonl cannot be read .JSON parse error"),
        ("a.jsonl", b'{"body": "words", "n": 1}', "Row 1 of .*a.jsonl has no 'text' but body, n: set"),
        ("a.jsonl", b'{"text": 3}', "'text' of .*a.jsonl:1 is not text: set data.text_key"),
        ("a.csv", b"id,body\n1,a\n", "a.csv cannot be read .*not found: .'text'"),
        ("a.parquet", b"PAR1 but not really", "a.parquet cannot be read .Parquet magic bytes not found"),
        ("a.txt.gz", b"not packed", "a.txt.gz cannot be read .Not a gzipped file"),
        ("a.jsonl.gz", TORN, "a.jsonl.gz cannot be read .Compressed file ended"),
    ],
)  # fmt: skip
def test_an_unreadable_file_is_reported(
    tmp_path: Path, name: str | None, content: bytes, message: str
) -> None:
    file = tmp_path / (name or "nowhere.txt")
    if name:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        texts_of(file.parent if file.name == ".keep" else file)


@pytest.mark.parametrize("write", [jsonl, json_list, parquet])
def test_a_key_inside_a_key(
    tmp_path: Path, write: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.data.text.test_files.ROWS", [{"meta": {"text": "inner"}}])
    file = tmp_path / f"a.{'parquet' if write is parquet else 'json'}"
    write(file)
    assert [text for _, text in texts_of(file, text_key="meta.text")] == ["inner"]
    for key in ("meta.body", "words"):
        with pytest.raises(ValueError, match=r"has no '.*' but meta: set data.text_key|No match for .*words"):
            texts_of(file, text_key=key)


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("first")
    assert texts_of(tmp_path) == [("caf\\udce9.txt", "first")]


@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_text_that_looks_like_a_number_or_a_missing_value_is_text(tmp_path: Path, separator: str) -> None:
    file = tmp_path / ("a.tsv" if separator == "\t" else "a.csv")
    file.write_text("".join(f"{n}{separator}{text}\n" for n, text in [("id", "text"), (1, "007"), (2, "NA")]))
    assert [text for _, text in texts_of(file)] == ["007", "NA"]


@pytest.mark.parametrize("name", ["corpus[v1].jsonl", "star*.jsonl"])
def test_the_name_of_a_table_may_look_like_a_pattern(tmp_path: Path, name: str) -> None:
    for file in (name, "corpusv.jsonl", "star1.jsonl"):
        (tmp_path / file).write_text(json.dumps({"text": file}))
    assert texts_of(tmp_path / name) == [(f"{name}:1", name)]


def test_a_long_file_becomes_many_documents_which_end_with_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIECE", 1000)
    lines = [f"line {n} of a long book\n" for n in range(2000)]
    (tmp_path / "short.txt").write_text("".join(lines[:300]))
    (tmp_path / "long.txt").write_text("".join(lines))
    assert texts_of(tmp_path / "short.txt") == [("short.txt", "".join(lines[:300]))]
    found = texts_of(tmp_path / "long.txt")
    assert "".join(text for _, text in found) == "".join(lines)
    assert len(found) > 40
    assert [source for source, _ in found[:2]] == ["long.txt:1", "long.txt:2"]
    assert all(text.endswith("\n") and len(text) < 2000 for _, text in found)


PREPARE = """
import sys; from pathlib import Path; import data
settings = {"_target_": "data.text.files.Files", "name": "files", "path": sys.argv[1], "tokenizer": "bytes"}
data.load(settings, 256, Path(sys.argv[2]))
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_size_of_a_file(tmp_path: Path) -> None:
    peaks = []
    for megabytes in (20, 100):
        book, cache = tmp_path / "book.txt", tmp_path / str(megabytes)
        book.write_text("".join(f"line {n:9d}\n" for n in range(megabytes * 66_666)))
        command = [sys.executable, "-c", PREPARE, str(book), str(cache)]
        printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        peaks.append(int(printed.split()[-1]) / 1000)  # megabytes
    assert peaks[1] - peaks[0] < 40
