"""The launcher of SLURM, on scripts that imitate its commands."""

import os
import signal
from pathlib import Path

import pytest

from tests.processes import descendants, exit_code, process_fields, start, wait_for
from tests.train import slurm
from tests.train.conftest import command

pytestmark = pytest.mark.slow


def test_slurm(small: list[str], tmp_path: Path) -> None:
    """SLURM sends a signal to all processes of a job that must make room; submitit queues it again."""
    path = f"{slurm.install(tmp_path)}:{os.environ['PATH']}"
    run = [*small, "trainer.max_steps=300", "trainer.checkpoint_every=1000000", "trainer.log_every=4"]
    run += ["hydra/launcher=slurm", "hydra.launcher.partition=gpu", "jobs=2"]
    run += ["hydra.mode=MULTIRUN", "encoding=nope,rope", "report=null"]
    run += [f"outputs={tmp_path}/o", f"hydra.sweep.dir={tmp_path}/s"]
    process = start(tmp_path, command, "train.__main__", run, PATH=path)

    def log() -> str:
        return "".join(file.read_text() for file in tmp_path.glob("s/rope-*/train.log"))

    wait_for(lambda: "step 20/" in log())
    (worker,) = [pid for pid in workers() if f"{tmp_path}/s" in workers()[pid] and task(pid) == "1"]
    for pid in (worker, *descendants(worker)):
        os.kill(pid, signal.SIGUSR2)
    assert exit_code(process) == 0, (tmp_path / "err").read_text()
    assert (tmp_path / "out").read_text().count("s  done, loss ") == 2
    first, _, second = log().partition("The same command resumes from here.")
    assert "Stopped by SIG" in first
    assert "step 20/" not in second
    assert second.count("Results in") == 1
    script = (tmp_path / "batch.sh").read_text().splitlines()
    options = "nodes=1 ntasks-per-node=1 array=0-1%2 partition=gpu signal=USR2@120 time=240".split()
    assert {f"#SBATCH --{option}" for option in options} <= set(script)


def workers() -> dict[int, str]:
    """Return the command lines of submitit's workers, by process number."""
    lines = [(int(pid), line) for pid, line in process_fields("pid=,args=")]
    return {pid: line for pid, line in lines if "submitit.core._submit" in line and "bash" not in line}


def task(pid: int) -> str:
    """Return the number of a process's task in the job array."""
    environment = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(entry.partition("=")[::2] for entry in environment)["SLURM_ARRAY_TASK_ID"]
