"""A run that is told to end says so, keeps its state, and leaves no process behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.forked import SERVER, forked, redirected
from tests.processes import family, is_alive, wait_for
from tests.train.conftest import ROOT, command
from train.errors import command_line
from train.fit.checkpoints import read_checkpoint
from train.runtime.signals import Stopped, block_sigint

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
    assert read_checkpoint(state)
    assert not (tmp_path / "run/DONE").exists()


def a_failing_clean_up() -> None:
    with command_line():
        try:
            raise Stopped(signal.SIGTERM)
        finally:
            {}["nothing"]


def test_an_error_on_the_way_out_is_not_told() -> None:
    ended = forked(a_failing_clean_up)
    assert ended.returncode == 143
    assert ended.stderr == "yardstick: Stopped by SIGTERM. The same command resumes from here.\n"


def ctrl_c_while_it_is_held() -> None:
    with command_line(), block_sigint():
        os.kill(os.getpid(), signal.SIGINT)
        print("goes on", flush=True)


def test_ctrl_c_waits_while_the_server_of_the_jobs_starts() -> None:
    ended = forked(ctrl_c_while_it_is_held)
    assert (ended.returncode, ended.stdout) == (130, "goes on\n")


def all_but_sigterm_are_ignored() -> None:
    for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2):
        assert signal.getsignal(number) is signal.SIG_IGN


def ended_by_sigterm() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_sigterm_ends_a_job_that_has_not_begun() -> None:
    """And the server that jobs are forked from, with what clears temporary folders."""
    assert forked(ended_by_sigterm).returncode == 143


def test_signals_to_all_do_not_interrupt_the_imports_of_the_jobs() -> None:
    """Ctrl-C and SLURM's reach the server that they are forked from, while the parent tells them to end."""
    assert forked(all_but_sigterm_are_ignored).returncode == 0


def test_a_job_of_slurm_is_queued_again(small: list[str], tmp_path: Path) -> None:
    """A run that `srun` started, where `#SBATCH --signal=USR1@120` told it to make room."""
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    scontrol.chmod(0o755)
    slurm = {"SLURM_JOB_ID": "7", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run = (*small, *ENDLESS, f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run")
    out, err = files = [tmp_path / "out", tmp_path / "err"]
    process = SERVER.Process(target=redirected, args=(files, slurm, command, ("train.__main__", run)))
    process.start()
    try:
        wait_for(lambda: out.exists() and "step 20/" in out.read_text())
        os.kill(process.pid or 0, signal.SIGUSR1)
        process.join(120)
    finally:
        process.kill()
    assert process.exitcode == 128 + signal.SIGUSR1
    assert err.read_text() == "yardstick: Stopped by SIGUSR1. The same command resumes from here.\n"
    assert (tmp_path / "asked").read_text() == "requeue 7\n"
    (state,) = tmp_path.glob("trained/*/last.ckpt")
    assert read_checkpoint(state)


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

    def logs() -> list[str]:
        return [log.read_text() for log in tmp_path.glob("sweep/*/train.log")]

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
