"""What is done to a process from inside, before its command line: limits, clocks, a signal at a write."""

import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from train import wandb_run as track

WRITES = {"open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate"}


def at_write(folder: Path, number: int, do: Callable[[], object]) -> None:
    """Something is done before the `number`-th change to the files of a folder."""
    count = iter(range(1, 1 << 20))
    at_each_write(folder, lambda: do() if next(count) == number else None)


def signalled(which: int) -> None:
    os.kill(os.getpid(), which)


def count_writes(folder: Path, file: Path) -> None:
    """A byte in a file for each."""
    out = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    at_each_write(folder, lambda: os.write(out, b"."))


def at_each_write(folder: Path, do: Callable[[], object]) -> None:
    process, place = os.getpid(), str(folder)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event in WRITES and (event != "open" or arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if writes and os.getpid() == process and str(arguments[0]).startswith(place):
            do()

    sys.addaudithook(watch)


def in_a_write(size: int) -> None:
    """The process is killed in the middle of the first file that grows past `size`."""
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, size)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def limit(what: int, value: int) -> None:
    resource.setrlimit(what, (value, resource.getrlimit(what)[1]))


def more_memory_than_now(size: int) -> None:
    """Allocations fail after so many bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit(resource.RLIMIT_AS, pages * resource.getpagesize() + size)
    limit(resource.RLIMIT_CORE, 0)


def more_files_than_now(count: int) -> None:
    limit(resource.RLIMIT_NOFILE, len(os.listdir("/proc/self/fd")) + count)


def jumping_clock(seed: int) -> None:
    """The time of day leaps by up to three years, forward and back, at every hundredth look at it."""
    draw, real, offset, looks = random.Random(seed), time.time, 0.0, 0

    def leaping() -> float:
        nonlocal offset, looks
        looks += 1
        offset = draw.uniform(-1e8, 1e8) if looks % 100 == 1 else offset
        return real() + offset

    time.time = leaping


def little_patience() -> None:
    """W&B's server gets a second, not a minute."""
    track.PATIENCE = track.UPLOAD = 1.0
    import wandb.apis.public.api

    wandb.apis.public.api.Api._HTTP_TIMEOUT = 1
