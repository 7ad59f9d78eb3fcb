"""A sweep gives the same rows and the same messages under every launcher."""

import os
import signal
from pathlib import Path

import pytest

from tests.processes import descendants, exit_code, is_alive, process_fields, start, wait_for
from tests.train import slurm
from tests.train.conftest import ENDLESS, call, command
from tests.train.test_run import close
from train.fit.checkpoints import read_checkpoint

pytestmark = pytest.mark.slow
LAUNCHERS = [("submitit_local", 2, "rope"), ("ray", 1, "alibi,rope")]
"""A launcher, processes of a job, for each of which submitit has a task, and the jobs."""


@pytest.fixture(scope="module")
def alone(small: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    call("encoding=rope", "extension=pi", *small, f"outputs={folder}/o", f"hydra.run.dir={folder}/run")
    return folder / "run"


@pytest.mark.parametrize(("launcher", "devices", "encodings"), LAUNCHERS)
def test_a_sweep(
    alone: Path, small: list[str], tmp_path: Path, launcher: str, devices: int, encodings: str
) -> None:
    chosen = [f"hydra/launcher={launcher}", f"trainer.devices={devices}", "jobs=2", "report=null"]
    chosen += ["hydra.mode=MULTIRUN", f"encoding={encodings}", "extension=pi"]
    swept = call(*chosen, *small, f"outputs={tmp_path}/o", f"hydra.sweep.dir={tmp_path}/s", check=False)
    assert swept.returncode == ("alibi" in encodings), swept.stderr
    (rope,) = tmp_path.glob("s/rope+pi-*")
    lines = {line.split()[0]: line for line in swept.stdout.splitlines() if line.startswith(("rope+", "al"))}
    assert "s  done, loss " in lines[rope.name]
    for alibi in tmp_path.glob("s/alibi+*"):
        assert f"s  FAILED, see {alibi}/train.log" in lines[alibi.name]
        assert "2 of 2" in swept.stdout
        assert "does not fit ALiBi" in (alibi / "train.log").read_text()
    assert len(lines) == len(encodings.split(","))
    assert (rope / "train.log").read_text().count("Results in") == 1
    close(alone, rope, 0 if devices == 1 else 1e-5)
    assert (tmp_path / "s/sweep.json").exists()


def test_slurm(small: list[str], tmp_path: Path) -> None:
    """SLURM sends a signal to all processes of a job that must make room; submitit queues it again."""
    path = f"{slurm.install(tmp_path)}:{os.environ['PATH']}"
    run = [*small, "trainer.max_steps=300", "trainer.checkpoint_every=1000000", "trainer.log_every=4"]
    run += ["hydra/launcher=submitit_slurm", "hydra.launcher.partition=gpu", "jobs=2"]
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


@pytest.mark.parametrize("launcher", ["submitit_local", "ray"])
def test_no_orphans(small: list[str], tmp_path: Path, launcher: str) -> None:
    run = [*small, *ENDLESS, f"hydra/launcher={launcher}", "hydra.mode=MULTIRUN", "report=null"]
    run += [f"outputs={tmp_path}/o", f"hydra.sweep.dir={tmp_path}/s"]
    process = start(tmp_path, command, "train.__main__", run)
    wait_for(lambda: any("step 20/" in log.read_text() for log in tmp_path.glob("s/*/train.log")))
    processes = descendants(process.pid)
    process.terminate()
    assert exit_code(process) == 143
    wait_for(lambda: not any(map(is_alive, processes)), 40)
    errors = (tmp_path / "err").read_text()
    assert errors.endswith("yardstick: Stopped by SIGTERM. The same command resumes from here.\n")
    (state,) = tmp_path.glob("o/trained/*/last.ckpt")
    assert read_checkpoint(state)
    (log,) = tmp_path.glob("s/*/train.log")
    assert log.read_text().endswith("Stopped by SIGTERM. The same command resumes from here.\n")
