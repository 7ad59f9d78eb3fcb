"""DONE certifies the results of a run, and different jobs have different folders."""

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from conf.errors import UsageError
from tests.composing import composed
from tests.harm import flip, truncate
from tests.train.conftest import SMALL
from train.launch.sweep import Job, Multirun, job_result
from train.results.rows import read_rows
from train.results.run_folder import (
    DOCUMENTS,
    DONE,
    RESULTS,
    RUN,
    TOKENIZER,
    check_finished,
    damage,
    finished_id,
    is_complete,
    is_done,
    write_done,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (RESULTS, RUN, DOCUMENTS, TOKENIZER, "final.ckpt"):
        (tmp_path / name).write_text(f"what is in {name}\n")
    write_done(tmp_path, "01234567")
    return tmp_path


def test_what_is_whole_is_done(folder: Path) -> None:
    assert finished_id(folder) == "01234567"
    assert damage(folder) is None
    assert is_done(folder, "01234567")
    assert not is_done(folder, "76543210")
    assert not is_done(folder / "elsewhere", "01234567")


@pytest.mark.parametrize("name", [RESULTS, RUN, DOCUMENTS, TOKENIZER])
@pytest.mark.parametrize("harm", [partial(truncate, at=-3), partial(flip, at=4), Path.unlink])
def test_what_is_not_is_done_again(folder: Path, name: str, harm: Callable[[Path], None]) -> None:
    harm(folder / name)
    assert damage(folder) == f"{name} is {'missing' if harm is Path.unlink else 'not what was written'}"
    assert not is_done(folder, "01234567")
    if (folder / RESULTS).exists():
        with pytest.raises(ValueError, match=rf"In .* {name} is .*: run it again\."):
            read_rows(folder / RESULTS)


def test_sha256sum_reads_it(folder: Path) -> None:
    check = partial(subprocess.run, ["sha256sum", "--strict", "-c", DONE], cwd=folder, capture_output=True)
    assert check().returncode == 0
    assert check().stdout.count(b": OK") == 5
    flip(folder / "final.ckpt", at=3)
    assert check().returncode == 1


def test_weights_and_tokenizer_are_vouched_for(folder: Path) -> None:
    """Weights may be deleted to save space, but neither changed nor added."""
    (folder / "final.ckpt").write_bytes(b"other weights")
    assert damage(folder) == "final.ckpt is not what was written"
    with pytest.raises(UsageError, match=r"final\.ckpt is not what was written"):
        check_finished(folder)
    (folder / "final.ckpt").unlink()
    assert damage(folder) is None
    (folder / "step-3.ckpt").write_bytes(b"weights of somebody")
    assert damage(folder) == "step-3.ckpt is not what was written"


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: "",
        lambda text: "01234567\n",
        lambda text: text.replace("run.json", "run.jsn"),
        lambda text: text.partition("\n")[2],
        lambda text: "".join(text.splitlines(keepends=True)[:-2]),
        lambda text: text.replace("run.json", "../run.json"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\x00\udcff",
    ],
)
def test_a_done_vouches_for_its_lines_alone(folder: Path, harm: Callable[[str], str]) -> None:
    text = harm((folder / DONE).read_text())
    (folder / DONE).write_bytes(text.encode(errors="surrogateescape"))
    assert damage(folder) == "DONE is damaged"
    assert not is_done(folder, "01234567")
    with pytest.raises(UsageError, match=r"DONE is damaged: run it again\."):
        read_rows(folder / RESULTS)


def test_a_folder_that_bears_the_name_of_a_run_is_its(tmp_path: Path, folder: Path) -> None:
    """This holds whatever a damaged DONE says; a folder of another name may belong to somebody else."""
    mine = tmp_path.with_name("rope-s0-76543210")
    shutil.copytree(folder, mine)
    assert not is_complete(mine, "76543210")
    with pytest.raises(ValueError, match="holds the results of another run"):
        is_complete(folder, "76543210")


def test_different_jobs_have_different_folders(tmp_path: Path) -> None:
    jobs = [Job(composed(*SMALL, f"seed={seed}"), [], tmp_path / "same", str(seed)) for seed in (0, 1)]
    Multirun().add([jobs[0], jobs[0]])
    with pytest.raises(ValueError, match=r"hydra\.sweep\.subdir gives different jobs the same folder"):
        Multirun().add(jobs)


def test_a_killed_job_is_reported_as_such(tmp_path: Path) -> None:
    job = Job(composed(*SMALL), [], tmp_path, "")
    assert job_result(job, 2) == f"FAILED, see {tmp_path}/train.log"
    assert job_result(job, -9) == "FAILED, it was killed by signal 9 (out of memory?)"
    log = (tmp_path / "train.log").read_text()
    assert log == "Killed: the job was killed by signal 9 (out of memory?).\n"
    assert job_result(job, -11) == "FAILED, it was killed by signal 11 (Segmentation fault)"
