"""What an archive holds is what the runs held."""

from pathlib import Path

import numpy as np
import pytest

from sweeps.archive import pack, portable, unpack, unpacked
from sweeps.results import load_sweep
from tests.sweeps.synthetic import make_sweep
from train.results.done import finished
from train.results.rows import read_rows


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return make_sweep(tmp_path / "sweep", methods=("rope", "learned"), seeds=2, windows=8)


def test_a_sweep_survives_the_archive(sweep: Path, tmp_path: Path) -> None:
    assert pack(sweep, tmp_path / "archive") == 4
    unpack(tmp_path / "archive", tmp_path / "again")
    for place in sorted(sweep.glob("*-s*")):
        again = tmp_path / "again" / place.name
        assert read_rows(again / "results.jsonl") == read_rows(place / "results.jsonl")
        assert finished(again) == finished(place)
        with np.load(place / "documents.npz") as old, np.load(again / "documents.npz") as new:
            assert set(old) == set(new)
            for name in old:
                assert old[name].shape == new[name].shape
                np.testing.assert_allclose(new[name], old[name], rtol=1e-6)
    loaded = load_sweep(tmp_path / "again")
    assert {(run.encoding, run.seed) for run in loaded.runs} == {
        (e, s) for e in ("rope", "learned") for s in (0, 1)
    }


def test_a_run_that_is_archived_again_replaces_itself(sweep: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    pack(sweep, archive)
    before = (archive / "rows.parquet").stat().st_size
    assert pack(sweep, archive) == 4
    assert (archive / "rows.parquet").stat().st_size == before


def test_an_archive_grows_by_other_runs(sweep: Path, tmp_path: Path) -> None:
    pack(sweep, tmp_path / "archive")
    other = make_sweep(tmp_path / "other", methods=("alibi",), seeds=1, windows=8)
    assert pack(other, tmp_path / "archive") == 5


def test_reports_read_archives(sweep: Path, tmp_path: Path) -> None:
    pack(sweep, tmp_path / "archive")
    with unpacked(tmp_path / "archive") as place:
        assert len(load_sweep(place).runs) == 4
    with unpacked(sweep) as place:
        assert place == sweep


def test_nothing_to_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no finished run"):
        pack(tmp_path, tmp_path / "archive")


def test_no_path_of_a_machine_is_archived() -> None:
    about = {
        "settings": {"outputs": "/home/me", "seed": 0},
        "command": "python -m train seed=0 outputs=/home/me",
    }
    assert portable(about) == {"settings": {"seed": 0}, "command": "python -m train seed=0"}


def test_no_archive(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no archive in .*nowhere: no rows.parquet."):
        unpack(tmp_path / "nowhere", tmp_path / "again")
