"""Signals: each ends a run with one sentence and the exit code of a shell, 143 for SIGTERM and 130 for
Ctrl-C."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import parent_process
from threading import Thread
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REQUEUE = (signal.SIGUSR1, signal.SIGUSR2)  # of SLURM, before it takes the machine away
EVERY = (*SIGNALS, *REQUEUE)
PATIENCE = 30  # seconds for a training to finish its step and write its state
PARENT = "YARDSTICK_PARENT"  # the process that starts others, for them: it may be gone before they ask


class Stopped(SystemExit):
    """A signal that ends the run."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number

    def __str__(self) -> str:
        return f"Stopped by {signal.Signals(self.number).name}. The same command resumes from here."


def ending(code: int) -> str:
    """Return how a process ended, by its exit code, if it could not report that itself."""
    if code >= 0:
        return f"failed with exit code {code}"
    why = "out of memory?" if code == -signal.SIGKILL else signal.strsignal(-code)
    return f"was killed by signal {-code} ({why})"


def raise_stopped(number: int, frame: object = None) -> None:
    raise Stopped(number)


def handle(handler: Any = raise_stopped, signals: Iterable[int] = EVERY) -> None:
    """Let these signals call `handler`, in place of Lightning, which would end with exit code 0, or wait for
    other processes."""
    for number in signals:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, handler)


@contextmanager
def handle_signals(handler: Any = raise_stopped, signals: Iterable[int] = EVERY) -> Iterator[None]:
    """Let signals raise `Stopped` inside the block."""
    before = {number: signal.getsignal(number) for number in signals}
    handle(handler, signals)
    if "LOCAL_RANK" in os.environ:  # one of several processes, that another one started
        is_by_lightning = PARENT in os.environ and "RANK" not in os.environ
        follow(partial(wait_for_end, int(os.environ[PARENT]) if is_by_lightning else os.getppid()))
    else:
        os.environ[PARENT] = str(os.getpid())
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def requeue(number: int) -> None:
    """Queue a SLURM job again that was asked to make room."""
    job = os.environ.get("SLURM_JOB_ID")
    if number in REQUEUE and job:
        subprocess.run(["scontrol", "requeue", job], check=False)


@contextmanager
def block_sigint() -> Iterator[None]:
    """Hold back Ctrl-C, here and in processes started inside, whose Python would report it as an error."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def end_with_parent() -> None:
    """End a process of multiprocessing by SIGTERM when its parent is gone."""
    parent = parent_process()
    if parent is not None:
        follow(parent.join)


def wait_for_end(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)


def follow(wait: Callable[[], object]) -> None:
    """Send SIGTERM to this process when `wait` returns. If it hangs, end it later without a message."""

    def watch() -> None:
        wait()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PATIENCE)
        os._exit(128 + signal.SIGTERM)

    Thread(target=watch, name="parent-watch", daemon=True).start()
