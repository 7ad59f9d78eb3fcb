"""A run that receives a signal says so, keeps its state, and leaves no process behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM, SIGUSR1, Signals

import pytest

from tests.processes import descendants, exit_code, is_alive, run_forked, start, wait_for
from tests.train.conftest import ENDLESS, command
from train.errors import command_line
from train.fit.checkpoints import read_checkpoint
from train.paths import ROOT
from train.runtime.process import Stopped, block_sigint

pytestmark = pytest.mark.slow


def stopped_by(number: Signals) -> str:
    return f"yardstick: Stopped by {number.name}. The same command resumes from here.\n"


@pytest.mark.parametrize(("number", "code"), [(SIGTERM, 143), (SIGINT, 130), (SIGUSR1, 128 + SIGUSR1)])
def test_a_signal_ends_a_run_with_a_sentence(
    small: list[str], tmp_path: Path, number: Signals, code: int
) -> None:
    """`#SBATCH --signal=USR1@120` sends SIGUSR1: the job is queued again."""
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    scontrol.chmod(0o755)
    slurm = {"SLURM_JOB_ID": "7", "PATH": f"{tmp_path}:{os.environ['PATH']}"} if number == SIGUSR1 else {}
    run = (*small, *ENDLESS, f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run")
    process = start(tmp_path, command, "train.__main__", run, **slurm)
    wait_for(lambda: "step 20/" in (tmp_path / "out").read_text() if (tmp_path / "out").exists() else False)
    os.kill(process.pid or 0, number)
    assert exit_code(process) == code
    assert (tmp_path / "err").read_text() == stopped_by(number)
    (state,) = tmp_path.glob("trained/*/last.ckpt")
    assert read_checkpoint(state)
    assert not (tmp_path / "run/DONE").exists()
    assert not slurm or (tmp_path / "asked").read_text() == "requeue 7\n"


def a_failing_clean_up() -> None:
    with command_line():
        try:
            raise Stopped(SIGTERM)
        finally:
            {}["nothing"]


def ctrl_c_while_it_is_held() -> None:
    with command_line(), block_sigint():
        os.kill(os.getpid(), SIGINT)
        print("goes on", flush=True)


def a_job_that_has_not_begun() -> None:
    """Ctrl-C and SLURM's signals reach the server that forks the jobs, while the parent tells them to end.
    SIGTERM ends the server, which clears its temporary folders."""
    for number in (SIGINT, SIGUSR1, signal.SIGUSR2):
        assert signal.getsignal(number) is signal.SIG_IGN
    os.kill(os.getpid(), SIGTERM)


@pytest.mark.parametrize(
    ("function", "code", "out", "err"),
    [
        (a_failing_clean_up, 143, "", stopped_by(SIGTERM)),
        (ctrl_c_while_it_is_held, 130, "goes on\n", stopped_by(SIGINT)),
        (a_job_that_has_not_begun, 143, "", ""),
    ],
)
def test_signals_at_other_times(function: Callable[[], None], code: int, out: str, err: str) -> None:
    done = run_forked(function)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)


@pytest.mark.parametrize(
    ("number", "seeds", "devices"), [(SIGINT, 2, 1), (SIGKILL, 2, 1), (SIGTERM, 1, 2), (SIGKILL, 1, 2)]
)
def test_a_sweep_leaves_no_orphans(
    small: list[str], tmp_path: Path, number: Signals, seeds: int, devices: int
) -> None:
    arguments = ["hydra.mode=MULTIRUN", f"seed=range({seeds})", "report=null", f"trainer.devices={devices}"]
    arguments += [f"jobs={seeds}", f"outputs={tmp_path}", f"hydra.sweep.dir={tmp_path}/sweep"]

    def logs() -> list[str]:
        return [log.read_text() for log in tmp_path.glob("sweep/*/train.log")]

    process = start(tmp_path, command, "train.__main__", (*small, *ENDLESS, *arguments))
    wait_for(lambda: sum("step 20/" in log for log in logs()) == seeds)
    processes = descendants(process.pid or 0)
    assert len(processes) >= 1 + seeds * devices
    os.kill(process.pid or 0, number)
    code = exit_code(process)
    wait_for(lambda: not any(map(is_alive, processes)), 40)
    if number != SIGKILL:
        assert (code, (tmp_path / "err").read_text()) == (128 + number, stopped_by(number))
    assert len(list(tmp_path.glob("trained/*/last.ckpt"))) == seeds
    assert all(log.endswith(stopped_by(SIGTERM).removeprefix("yardstick: ")) for log in logs())


def test_a_user_without_a_home_has_one(tmp_path: Path) -> None:
    """In a container: W&B and `datasets` write there."""
    program = (
        "import os; from train.runtime.process import set_environment as s; s(); print(os.environ['HOME'])"
    )
    environment = os.environ | {"HOME": str(tmp_path / "none"), "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert Path(printed.stdout.strip()).is_dir()
