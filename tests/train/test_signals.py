"""A run that is told to end says so, keeps its state, and leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.forked import SERVER, TIMEOUT, redirected
from tests.train.conftest import ROOT, command
from train.checkpoints import is_whole

pytestmark = pytest.mark.slow
ENDLESS = ["trainer.max_steps=1000000", "trainer.log_every=4", "trainer.checkpoint_every=1000000"]


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "WANDB_MODE": "disabled"}
    line = [sys.executable, "-m", "train", *arguments]
    process = subprocess.Popen(line, cwd=ROOT, env=environment, text=True, stdout=-1, stderr=-1)
    try:
        yield process
    finally:
        process.kill()


def wait_for(is_so: Callable[[], object], seconds: float = TIMEOUT) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def family(parent: int) -> dict[int, str]:
    """The processes that a process started, and theirs, by number: their command lines."""
    lines = subprocess.check_output(["ps", "-ewwo", "pid=,ppid=,args="], text=True).splitlines()
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
    run = (*small, *ENDLESS, f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run")
    out, err = files = [tmp_path / "out", tmp_path / "err"]
    process = SERVER.Process(target=redirected, args=(files, {}, command, ("train.__main__", run)))
    process.start()
    try:
        wait_for(lambda: out.exists() and "step 20/" in out.read_text())
        os.kill(process.pid or 0, number)
        process.join(120)
    finally:
        process.kill()
    assert process.exitcode == code
    assert err.read_text() == f"yardstick: Stopped by {number.name}. The same command resumes from here.\n"
    (state,) = tmp_path.glob("trained/*/last.ckpt")
    assert is_whole(state)
    assert not (tmp_path / "run/DONE").exists()


@pytest.mark.parametrize(
    ("number", "seeds", "devices"),
    [
        (signal.SIGTERM, 2, 1),
        (signal.SIGINT, 2, 1),
        (signal.SIGKILL, 2, 1),
        (signal.SIGTERM, 1, 2),
        (signal.SIGKILL, 1, 2),
    ],
)
def test_a_sweep_leaves_no_orphans(
    small: list[str], tmp_path: Path, number: signal.Signals, seeds: int, devices: int
) -> None:
    many = ["hydra.mode=MULTIRUN", f"seed=range({seeds})", "report=null", f"trainer.devices={devices}"]
    many += [f"jobs={seeds}"]
    many += [f"outputs={tmp_path}", f"hydra.sweep.dir={tmp_path}/sweep"]
    logs = lambda: [log.read_text() for log in tmp_path.glob("sweep/*/train.log")]  # noqa: E731
    with started(*small, *ENDLESS, *many) as process:
        wait_for(lambda: sum("step 20/" in log for log in logs()) == seeds)
        processes = family(process.pid)
        assert len(processes) >= 1 + seeds * devices
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    wait_for(lambda: not any(map(is_alive, processes)), 40)
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert errors == f"yardstick: Stopped by {number.name}. The same command resumes from here.\n"
    assert len(list(tmp_path.glob("trained/*/last.ckpt"))) == seeds
    assert all(log.endswith("Stopped by SIGTERM. The same command resumes from here.\n") for log in logs())
