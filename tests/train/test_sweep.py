"""A sweep: one process for each job, isolated failures, and a second call that runs only what is missing."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.composing import composed
from tests.processes import run_forked
from tests.train.conftest import ROOT, call, command
from train.launch.resources import Share
from train.launch.sweep import Job, write_index
from train.launch.worker import run_worker

pytestmark = pytest.mark.slow


def test_what_fails_does_not_stop_the_rest(small: list[str], tmp_path: Path) -> None:
    """Jobs that need the same training train once."""
    wanted = [*small, "encoding=rope", "extension=learned_interpolated,pi,ntk", "jobs=2"]
    wanted += ["hydra.mode=MULTIRUN", "report=null", f"outputs={tmp_path}/o", f"hydra.sweep.dir={tmp_path}/s"]
    first = call(*wanted, check=False)
    assert (first.returncode, "FAILED" in first.stdout) == (1, True)
    folders = sorted(tmp_path.glob("s/rope+*"), key=lambda folder: (folder / "DONE").exists())
    assert [(folder / "DONE").exists() for folder in folders] == [False, True, True]
    wrong, *right = folders
    assert "does not fit RoPE" in (wrong / "train.log").read_text()
    assert len(json.loads((tmp_path / "s/sweep.json").read_text())["jobs"]) == 3
    assert len(list(tmp_path.glob("o/trained/*/final.ckpt"))) == 1
    before = [(folder / "results.jsonl").stat().st_mtime_ns for folder in right]
    again = call(*wanted, check=False)
    assert again.returncode == 1
    assert [(folder / "results.jsonl").stat().st_mtime_ns for folder in right] == before
    assert not [line for line in again.stdout.splitlines() if line.startswith("rope+") and " s  done" in line]


def test_two_processes_a_job(small: list[str], tmp_path: Path) -> None:
    """Each job of a multirun starts its second process and no more, also inside a SLURM allocation that knows
    of one task. The temporary folder is empty at the end."""
    chosen = ["sweeps=quick", "encoding=nope,rope", "seed=0", "trainer.devices=2", "trainer.strategy=ddp"]
    chosen += ["wandb.mode=offline", f"outputs={tmp_path}/o", f"hydra.sweep.dir={tmp_path}/sweep"]
    slurm = {"SLURM_JOB_ID": "1", "SLURM_JOB_NAME": "run", "SLURM_NTASKS": "1", "SLURM_NTASKS_PER_NODE": "1"}
    slurm |= {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "PYTHONPATH": str(ROOT)}
    with TemporaryDirectory() as scratch:
        done = run_forked(command, "train.__main__", (*small, *chosen), TMPDIR=scratch, **slurm)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [
            file for _, _, files in os.walk(scratch) for file in files
        ] == []  # W&B may be removing its folders
    assert len(list(tmp_path.glob("sweep/*/DONE"))) == 2
    assert len(list(tmp_path.glob("o/wandb/offline-run-*"))) == 2
    assert "(1 of 2, about " in done.stdout
    assert (tmp_path / "sweep" / "report.html").exists()


def test_a_job_that_changed_while_it_was_queued_is_refused(small: list[str], tmp_path: Path) -> None:
    job = Job(composed(*small), small, tmp_path / "run", "01234567")
    assert run_forked(run_worker, job, Share(1)).returncode == 2
    log = (tmp_path / "run/train.log").read_text()
    assert (
        log == "yardstick: Settings, code or data changed since this job was queued: start the sweep again.\n"
    )


def sweep_jobs(folder: Path, *commands: str) -> list[str]:
    """Return the jobs in sweep.json after each of these has been a job of one more multirun."""
    overrides = [command.split() for command in commands]
    return write_jobs(
        [Job(composed(*words), words, folder / "-".join(words).replace("=", ""), "") for words in overrides]
    )


def write_jobs(jobs: list[Job]) -> list[str]:
    write_index(jobs, datetime.now(UTC))
    return [job["name"] for job in json.loads((jobs[0].folder.parent / "sweep.json").read_text())["jobs"]]


def test_a_second_multirun_adds_its_jobs_to_the_sweep(tmp_path: Path) -> None:
    first = sweep_jobs(tmp_path, "encoding=alibi seed=0", "encoding=rope seed=0")
    more = sweep_jobs(
        tmp_path, "encoding=rope seed=0", "encoding=rope seed=1 jobs=2 trainer.threads=2 wandb.mode=disabled"
    )
    assert more == [first[0], *more[1:]]
    assert len(more) == 3
    (tmp_path / first[0]).rmdir()
    assert sweep_jobs(tmp_path, "encoding=t5 seed=0") == [*more[1:], "encodingt5-seed0"]
    moved = Job(composed("encoding=t5", "seed=0"), ["encoding=t5", "seed=0"], tmp_path / "t5-of-now", "")
    assert write_jobs([moved]) == [*more[1:], "t5-of-now"]  # whose code has changed


def test_another_experiment_or_a_damaged_list_begins_anew(tmp_path: Path) -> None:
    sweep_jobs(tmp_path, "encoding=alibi trainer.max_steps=2")
    assert sweep_jobs(tmp_path, "encoding=alibi") == ["encodingalibi"]
    for content in ("{", "[]", '{"jobs": 3}', '{"jobs": [{"folder": "a"}]}'):
        (tmp_path / "sweep.json").write_text(content)
        assert sweep_jobs(tmp_path, "encoding=alibi") == ["encodingalibi"]
