"""A cache is built once, is whole or absent, and is built again after damage."""

import json
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import data
from data.text.tokens import Text
from tests.harm import files_of_at_most, flip, truncate
from tests.processes import TIMEOUT
from train.paths import ROOT

LOAD = """
import json, logging, sys
logging.basicConfig(level=logging.INFO)
import data
source = data.load(json.loads(sys.argv[1]), 512, sys.argv[2])
heavy = {"datasets", "pandas", "tokenizers", "pyarrow", "huggingface_hub", "filelock", "sympy", "networkx"}
print(source.fingerprint, source.folder.name, sorted(heavy & set(sys.modules)))
"""


@pytest.fixture
def small(settings: Callable[..., dict], books: Path) -> dict[str, Any]:
    return settings("files", path=str(books))


def start(settings: dict[str, Any], cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LOAD, json.dumps(settings), str(cache)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def cache_files(cache: Path) -> list[Path]:
    """Return the files of a cache, apart from locks."""
    return sorted(path for path in cache.iterdir() if not path.name.endswith(".lock"))


def opened(settings: dict[str, Any], cache: Path) -> Text:
    return data.load(settings, 512, cache)


@pytest.mark.slow
def test_many_processes_build_once(small: dict[str, Any], tmp_path: Path) -> None:
    processes = [start(small, tmp_path / "cache") for _ in range(3)]
    outputs = [process.communicate(timeout=TIMEOUT) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    assert sum(errors.count("Preparing data=files") for _, errors in outputs) == 1
    assert len({out.rsplit(" [")[0] for out, _ in outputs}) == 1
    assert len(cache_files(tmp_path / "cache")) == 1


@pytest.mark.slow
def test_a_killed_build_leaves_nothing_that_looks_whole(
    settings: Callable[..., dict], tmp_path: Path
) -> None:
    chosen = settings("stdlib", limit=1.0, held_out=0.05)
    process = start(chosen, tmp_path)
    while not list(tmp_path.glob(".*.part/training.bin")):  # in the middle of encoding
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (left,) = cache_files(tmp_path)
    assert left.name.endswith(".part")
    source = opened(chosen, tmp_path)
    assert cache_files(tmp_path) == [source.folder]


@pytest.mark.slow
def test_a_warm_cache_imports_nothing_heavy(stdlib: Text, settings: Callable[..., dict], cache: Path) -> None:
    process = start(settings("stdlib", limit=0.5, held_out=0.03), cache)
    out, errors = process.communicate(timeout=TIMEOUT)
    assert out.split() == [stdlib.fingerprint, stdlib.folder.name, "[]"], errors
    assert "Preparing" not in errors


def revalue(folder: Path) -> None:
    file = folder / "meta.json"
    file.write_text(file.read_text().replace('"mask_token": ', '"mask_token": 1'))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut": lambda folder: truncate(folder / "training.bin", 100),
    "flipped": lambda folder: flip(folder / "held_out.bin", 10),
    "gone": lambda folder: (folder / "meta.json").unlink(),
    "revalued": revalue,
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_cache_is_reported_and_built_again(
    kind: str, small: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = opened(small, tmp_path / "cache")
    tokens = source.training.copy()
    DAMAGES[kind](source.folder)
    again = opened(small, tmp_path / "cache")
    (warning,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.endswith("is damaged; it is built again.")
    assert np.array_equal(again.training, tokens)
    assert again.fingerprint == source.fingerprint


def test_a_full_disk_leaves_nothing(small: dict[str, Any], tmp_path: Path) -> None:
    with files_of_at_most(4096), pytest.raises(OSError, match="too large"):
        opened(small, tmp_path / "cache")
    assert cache_files(tmp_path / "cache") == []
    assert len(opened(small, tmp_path / "cache").training) > 4096


def test_what_decides_the_ids_decides_the_folder(
    small: dict[str, Any], books: Path, cache: Path, settings: Callable[..., dict]
) -> None:
    first = opened(small, cache)
    assert opened(small, cache).folder == first.folder
    changes = ({"held_out": 0.2}, {"tokenizer": "bytes"}, {"limit": 0.001})
    others = [*(data.load(small | change, 512, cache) for change in changes), data.load(small, 300, cache)]
    file = books / "shelf0/0.txt"
    file.write_text(file.read_text() + " and more")
    others.append(opened(small, cache))
    assert len({source.folder for source in (first, *others)}) == 6
    assert len({source.fingerprint for source in (first, *others)}) == 6


def test_a_text_that_changes_between_its_digest_and_its_reading_is_refused(
    small: dict[str, Any], books: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the new text would be kept under the digest of the old one."""
    from data.text import prepare as build

    prepare = build.prepare_corpus

    def change(*arguments: Any) -> Any:
        (books / "shelf0/0.txt").write_text("something else altogether")
        return prepare(*arguments)

    monkeypatch.setattr(build, "prepare_corpus", change)
    with pytest.raises(ValueError, match="data=files changed while it was read"):
        opened(small, tmp_path / "cache")
    assert cache_files(tmp_path / "cache") == []


def test_a_cache_that_cannot_be_written_serves_what_it_has(small: dict[str, Any], tmp_path: Path) -> None:
    """Opening such a cache takes no lock and writes nothing."""
    source = opened(small, tmp_path / "cache")
    for lock in (tmp_path / "cache").glob(".*.lock"):
        lock.unlink()
    before = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert opened(small, tmp_path / "cache").fingerprint == source.fingerprint
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == before
