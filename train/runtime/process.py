"""A process: its environment, and the signals that end it.

Each signal ends a run with one sentence and the exit code of a shell, 143 for SIGTERM and 130 for Ctrl-C.
"""

import atexit
import ctypes
import gc
import logging
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import parent_process
from threading import Thread
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REQUEUE = (signal.SIGUSR1, signal.SIGUSR2)  # of SLURM, before it takes the machine away
EVERY = (*SIGNALS, *REQUEUE)
PATIENCE = 30  # seconds for a training to finish its step and write its state
SET_PARENT_DEATH_SIGNAL = 1  # of Linux's prctl


def set_environment() -> None:
    """Set how OpenMP waits, how memory is paged and how often garbage is looked for, unless the user has."""
    # OpenMP's threads wait by spinning: with other work on the same cores that is ten times slower. Asleep at
    # once, two would be slower than one, as waking takes longer than a small product
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # both are read when torch is imported
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # tens of microseconds
    # Of 4 KiB each, the pages of large tensors take a tenth of a step to find; Linux has huge ones
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # read at the first tensor
    # Importing Lightning makes 400,000 objects that stay; to look for garbage among them takes seconds
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)
    if not os.access(os.path.expanduser("~"), os.W_OK):  # a container: W&B and `datasets` write there
        os.environ["HOME"] = tempfile.mkdtemp(prefix="home-")


def quiet() -> None:
    """Silence Lightning's tips and intended warnings, but show this project's messages."""
    for name in ("train", "data"):
        messages = logging.getLogger(name)
        if not messages.hasHandlers():  # Hydra has set none up
            messages.addHandler(logging.StreamHandler(sys.stdout))
            messages.setLevel(logging.INFO)
    for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in ("lightning.pytorch.profilers", "lightning.fabric.strategies.launchers.subprocess_script"):
        logging.getLogger(name).setLevel(logging.INFO)  # what trainer.profiler prints, and which process died
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*is not a supported tensor core.*")
    warnings.filterwarnings("ignore", message="find_unused_parameters=True was specified.*")


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
    if os.environ.get("LOCAL_RANK", "0") != "0":  # one of several processes, which has nothing to save
        end_with_parent()
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
    """Have Linux end this process when its parent ends."""
    with suppress(OSError, AttributeError):  # another system
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def follow_parent() -> None:
    """Send SIGTERM to this process of multiprocessing when the process that asked for it ends. The server
    that forked it lives as long as its children."""

    def watch() -> None:
        if parent := parent_process():
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=watch, name="parent-watch", daemon=True).start()
