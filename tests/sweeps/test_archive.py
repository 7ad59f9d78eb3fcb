"""An archive holds all that its runs hold."""

import errno
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conf.errors import UsageError
from sweeps.archive import pack, portable, unpack
from sweeps.results import load_sweep
from tests.sweeps.synthetic import edit, make_sweep, vouch
from train.results.run_folder import finished_id


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return make_sweep(tmp_path / "sweep", methods=("rope", "learned"), seeds=2, windows=8)


def test_a_sweep_survives_the_archive(sweep: Path, tmp_path: Path) -> None:
    """The sweep is the same read from the archive, and from run folders unpacked from it."""
    assert pack(sweep, tmp_path / "archive") == 4
    assert unpack(tmp_path / "archive", tmp_path / "again") == 4
    runs = {run.folder.name: run for run in load_sweep(sweep).runs}
    for folder in ("archive", "again"):
        others = load_sweep(tmp_path / folder).runs
        assert {run.folder.name for run in others} == set(runs)
        for other in others:
            run = runs[other.folder.name]
            assert (other.rows, other.facts) == (run.rows, run.facts)
            assert set(other.documents) == set(run.documents)
            for name, scores in run.documents.items():
                assert other.documents[name].shape == scores.shape
                np.testing.assert_allclose(other.documents[name], scores, rtol=1e-6)
    for name, run in runs.items():
        assert finished_id(tmp_path / "again" / name) == finished_id(run.folder)


def test_an_archive_grows_by_other_runs_and_replaces_its_own(sweep: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    pack(sweep, archive)
    before = (archive / "rows.parquet").stat().st_size
    assert pack(sweep, archive) == 4
    assert (archive / "rows.parquet").stat().st_size == before
    other = make_sweep(tmp_path / "other", methods=("alibi",), seeds=1, windows=8)
    assert pack(other, archive) == 5


def test_a_run_has_the_name_of_its_folder(sweep: Path, tmp_path: Path) -> None:
    (sweep / "rope-s0").rename(sweep / "mine")
    (sweep / "sweep.json").unlink()
    pack(sweep, tmp_path / "archive")
    found = {run.folder.name: run for run in load_sweep(tmp_path / "archive").runs}
    assert {row.run for row in found["mine"].rows} == {"mine"}


def test_two_runs_of_one_name_are_refused(tmp_path: Path) -> None:
    """Their rows would be those of one run, with the scores of the other."""
    for name in ("a", "b"):
        make_sweep(tmp_path / "both" / name, methods=("rope",), seeds=1, windows=8)
    with pytest.raises(UsageError, match="several runs called rope-s0"):
        pack(tmp_path / "both", tmp_path / "archive")
    assert not (tmp_path / "archive").exists()


def test_a_full_disk_leaves_the_old_archive(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three files belong together."""
    archive = tmp_path / "archive"
    pack(sweep, archive)
    before = {file.name: file.read_bytes() for file in archive.iterdir()}
    other = make_sweep(tmp_path / "other", methods=("alibi",), seeds=1, windows=8)
    write, written = pd.DataFrame.to_parquet, []

    def full(frame: pd.DataFrame, *args: object, **options: object) -> None:
        written.append(frame)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(frame, *args, **options)  # type: ignore[call-overload]  # as it was called

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    with pytest.raises(OSError, match="No space left"):
        pack(other, archive)
    assert {file.name: file.read_bytes() for file in archive.iterdir()} == before


def test_a_run_of_unknown_origin_is_refused(sweep: Path, tmp_path: Path) -> None:
    edit(sweep / "rope-s0/run.json", lambda about: about.update(commit="0123456789ab"))
    vouch(sweep)
    with pytest.raises(UsageError, match=r"^rope-s0 comes from commit 0123456789ab, which is not in"):
        pack(sweep, tmp_path / "archive")
    assert not (tmp_path / "archive").exists()


def test_a_damaged_run_is_left_out_and_named(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sweep / "rope-s0/results.jsonl").write_text("{}\n")
    assert pack(sweep, tmp_path / "archive") == 3
    assert "rope-s0 is left out." in capsys.readouterr().err


def test_a_damaged_archive_is_one_sentence(sweep: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    for name, content in (("rows", b"PAR1 and no more"), ("scores", b""), ("runs", None)):
        pack(sweep, archive)
        file = archive / f"{name}.parquet"
        file.unlink() if content is None else file.write_bytes(content)
        with pytest.raises(UsageError, match=r"The archive .* is damaged: make it again"):
            load_sweep(archive)
        shutil.rmtree(archive)


@pytest.mark.parametrize("name", ["rows", "scores"])
def test_an_archive_that_lacks_a_run_is_damaged(name: str, sweep: Path, tmp_path: Path) -> None:
    pack(sweep, tmp_path)
    file = tmp_path / f"{name}.parquet"
    frame = pd.read_parquet(file)
    frame[frame["run"] != frame["run"].iloc[0]].to_parquet(file)
    with pytest.raises(UsageError, match=r"The archive .* is damaged: make it again"):
        load_sweep(tmp_path)


@pytest.mark.parametrize("run", ["..", "", "../x", "/tmp/x"])
def test_a_run_whose_name_leads_elsewhere_is_damage(run: str, sweep: Path, tmp_path: Path) -> None:
    pack(sweep, tmp_path / "archive")
    for name in ("rows", "scores", "runs"):
        file = tmp_path / "archive" / f"{name}.parquet"
        frame = pd.read_parquet(file)
        frame.assign(run=frame["run"].replace("rope-s0", run)).to_parquet(file)
    with pytest.raises(UsageError, match=r"The archive .* is damaged: make it again"):
        unpack(tmp_path / "archive", tmp_path / "into" / "again")
    assert not (tmp_path / "into").exists()


def test_nothing_to_archive_and_no_archive(sweep: Path, tmp_path: Path) -> None:
    for done in sweep.glob("*/DONE"):
        done.unlink()
    with pytest.raises(ValueError, match="no finished run"):
        pack(sweep, tmp_path / "archive")
    with pytest.raises(FileNotFoundError, match=r"There is no archive in .*nowhere: no rows.parquet."):
        unpack(tmp_path / "nowhere", tmp_path / "again")


def test_no_path_of_a_machine_is_archived() -> None:
    command = "yardstick seed=0"
    about = {"settings": {"outputs": "/home/me", "seed": 0}, "command": f"{command} outputs=/home/me"}
    assert portable(about) == {"settings": {"seed": 0}, "command": command}
