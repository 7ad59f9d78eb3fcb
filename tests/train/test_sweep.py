"""A sweep: a process a job, failures stay in theirs, a second call runs what is missing."""

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.composing import composed
from tests.processes import forked
from tests.train.conftest import ROOT, call, command
from train.launch.index import write_index
from train.launch.worker import Job

pytestmark = pytest.mark.slow


def test_what_fails_does_not_stop_the_rest(small: list[str], tmp_path: Path) -> None:
    wanted = [
        "sweeps=encodings",
        "encoding=alibi,rope",
        "seed=0",
        "extension=pi",
        *small,
        f"outputs={tmp_path}/o",
        "evaluation.extensions=[]",
    ]
    wanted += [f"hydra.sweep.dir={tmp_path}", "report=null"]
    first = call(*wanted, check=False)
    assert first.returncode == 1
    assert "FAILED" in first.stdout
    (rope,) = tmp_path.glob("rope-*")
    (alibi,) = tmp_path.glob("alibi-*")
    assert (rope / "DONE").exists()
    assert not (alibi / "DONE").exists()
    assert "does not fit ALiBi" in (alibi / "train.log").read_text()
    assert len(json.loads((tmp_path / "sweep.json").read_text())["jobs"]) == 2
    before = (rope / "results.jsonl").stat().st_mtime_ns
    again = call(*wanted, check=False)
    assert again.returncode == 1
    assert (rope / "results.jsonl").stat().st_mtime_ns == before
    assert not [line for line in again.stdout.splitlines() if line.startswith("rope-") and " s  done" in line]


def test_two_processes_a_job(small: list[str], tmp_path: Path) -> None:
    """Distributed training inside a multirun: each job starts its own second process, and only that; here
    inside an allocation of SLURM's, which knows of one task."""
    chosen = ["sweeps=encodings", "encoding=nope,rope", "seed=0", "trainer.devices=2", "trainer.strategy=ddp"]
    folders = [f"outputs={tmp_path}/o", f"hydra.sweep.dir={tmp_path}/sweep"]
    slurm = {"SLURM_JOB_ID": "1", "SLURM_JOB_NAME": "run", "SLURM_NTASKS": "1", "SLURM_NTASKS_PER_NODE": "1"}
    slurm |= {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "WANDB_MODE": "disabled"}
    done = forked(command, "train.__main__", (*chosen, *small, *folders), PYTHONPATH=str(ROOT), **slurm)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "sweep").glob("*/DONE"))) == 2
    assert (tmp_path / "sweep" / "report.html").exists()


def test_jobs_that_need_the_same_training_train_once(small: list[str], tmp_path: Path) -> None:
    both = ["hydra.mode=MULTIRUN", "extension=pi,ntk", "jobs=2", "trainer.max_steps=30"]
    call(*small, *both, f"outputs={tmp_path}/o", f"hydra.sweep.dir={tmp_path}/sweep")
    assert len(list((tmp_path / "sweep").glob("*/DONE"))) == 2
    assert len(list(tmp_path.glob("o/trained/*/final.ckpt"))) == 1


def test_jobs_leave_no_temporary_files(small: list[str], tmp_path: Path) -> None:
    folders = [f"outputs={tmp_path}/o", f"hydra.sweep.dir={tmp_path}/sweep"]
    chosen = ["hydra.mode=MULTIRUN", "encoding=nope,alibi", "wandb.mode=offline", "report=null", *folders]
    with TemporaryDirectory() as scratch:
        done = forked(command, "train.__main__", (*small, *chosen), TMPDIR=scratch, PYTHONPATH=str(ROOT))
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(list(tmp_path.glob("o/wandb/offline-run-*"))) == 2
        assert [path for path in Path(scratch).rglob("*") if path.is_file()] == []


def listed(folder: Path, *commands: str) -> list[str]:
    """The jobs that sweep.json lists after each of these was a job of one more multirun."""
    overrides = [one.split() for one in commands]
    jobs = [Job(composed(*own), own, folder / "-".join(own).replace("=", ""), "") for own in overrides]
    for job in jobs:
        job.folder.mkdir(parents=True, exist_ok=True)
    write_index(jobs, datetime.now(UTC))
    return [job["name"] for job in json.loads((folder / "sweep.json").read_text())["jobs"]]


def test_a_second_multirun_adds_its_jobs_to_the_sweep(tmp_path: Path) -> None:
    first = listed(tmp_path, "encoding=alibi seed=0", "encoding=rope seed=0")
    more = listed(tmp_path, "encoding=rope seed=0", "encoding=rope seed=1 jobs=2 wandb.mode=disabled")
    assert more == [first[0], *more[1:]]
    assert len(more) == 3
    (tmp_path / first[0]).rmdir()
    assert listed(tmp_path, "encoding=t5 seed=0") == [*more[1:], "encodingt5-seed0"]


def test_a_multirun_of_another_experiment_begins_the_list_anew(tmp_path: Path) -> None:
    listed(tmp_path, "encoding=alibi trainer.max_steps=2")
    assert listed(tmp_path, "encoding=alibi") == ["encodingalibi"]


def test_a_job_whose_code_changed_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    listed(tmp_path, "encoding=alibi")
    moved = Job(composed("encoding=alibi"), ["encoding=alibi"], tmp_path / "alibi-of-now", "")
    write_index([moved], datetime.now(UTC))
    assert [one["name"] for one in json.loads((tmp_path / "sweep.json").read_text())["jobs"]] == [
        "alibi-of-now"
    ]


def test_a_damaged_list_is_written_again(tmp_path: Path) -> None:
    for content in ("{", "[]", '{"jobs": 3}', '{"jobs": [{"folder": "a"}]}'):
        (tmp_path / "sweep.json").write_text(content)
        assert listed(tmp_path, "encoding=alibi") == ["encodingalibi"]
