"""A run that is told to end says so, keeps its state, and leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.conftest import ROOT
from train.checkpoints import is_whole

pytestmark = pytest.mark.slow
ENDLESS = ["trainer.max_steps=1000000", "trainer.log_every=50", "trainer.checkpoint_every=1000000"]


def started(*arguments: str) -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "WANDB_MODE": "disabled"}
    line = [sys.executable, "-m", "train", *arguments]
    return subprocess.Popen(line, cwd=ROOT, env=environment, text=True, stdout=-1, stderr=-1)


def wait_for(is_so: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def family(parent: int) -> dict[int, str]:
    """The processes that a process started, and theirs, by number: their command lines."""
    lines = subprocess.check_output(["ps", "-eo", "pid=,ppid=,args="], text=True).splitlines()
    processes = [(int(pid), int(ppid), line) for pid, ppid, line in (one.split(None, 2) for one in lines)]
    found: dict[int, str] = {}
    for _ in range(4):
        found |= {pid: line for pid, ppid, line in processes if ppid in (parent, *found)}
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_run_with_a_sentence(
    small: list[str], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process = started(*small, *ENDLESS, f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run")
    assert process.stdout is not None
    wait_for(lambda: "step 250/" in process.stdout.readline())
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (
        code,
        f"yardstick: Stopped by {number.name}. The same command goes on from here.\n",
    )
    (state,) = tmp_path.glob("trained/*/last.ckpt")
    assert is_whole(state)
    assert not (tmp_path / "run/DONE").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("devices", [1, 2])
def test_a_sweep_leaves_no_orphans(
    small: list[str], tmp_path: Path, number: signal.Signals, devices: int
) -> None:
    many = ["hydra.mode=MULTIRUN", "seed=0,1", "report=null", f"trainer.devices={devices}", "jobs=2"]
    process = started(*small, *ENDLESS, *many, f"outputs={tmp_path}", f"hydra.sweep.dir={tmp_path}/sweep")
    logs = lambda: [log.read_text() for log in tmp_path.glob("sweep/*/train.log")]  # noqa: E731
    wait_for(lambda: sum("step 250/" in log for log in logs()) == 2)
    processes = family(process.pid)
    assert len(processes) >= 3
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    wait_for(lambda: not any(map(is_alive, processes)), 20)
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert errors == f"yardstick: Stopped by {number.name}. The same command goes on from here.\n"
    assert len(list(tmp_path.glob("trained/*/last.ckpt"))) == 2
    assert all(log.endswith("Stopped by SIGTERM. The same command goes on from here.\n") for log in logs())
