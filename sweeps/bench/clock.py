"""Measuring: processor time, medians of interleaved rounds, memory in a process of its own."""

import ctypes
import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import torch

from train.runtime.machine import peak_memory, reset_peak_memory

FORK = multiprocessing.get_context("fork")  # children start with everything imported


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def now() -> float:
    """Seconds: of one thread's processor time, which other processes disturb less; else of the clock."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    elif torch.get_num_threads() == 1:
        return time.process_time()
    return time.perf_counter()  # that of a process adds up over threads


def seconds(call: Callable[[], Any]) -> float:
    start = now()
    call()
    return now() - start


def median_times(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each; a slow minute of the machine strikes all of them."""
    for run in contenders.values():
        run()
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            taken[name].append(seconds(run))
    return {name: statistics.median(times) for name, times in taken.items()}


def added_memory(prepare: Callable[[], Callable[[], Any]]) -> int:
    """Bytes that running what `prepare` makes adds at the most to what was there before."""

    def measured() -> int:
        run, before = prepare(), resident()
        run()
        return max(0, (peak_memory() or 0) - before)

    return measured() if torch.cuda.is_available() else in_child(measured)


def resident() -> int:
    """Bytes in use now. What was freed is given back first, or it would be used again without a trace."""
    with suppress(OSError, AttributeError):  # where there is another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    reset_peak_memory()
    return peak_memory() or 0


def in_child(call: Callable[[], Any]) -> Any:
    """Return the result of a call in a forked process, which leaves its memory behind with it."""
    receiver, sender = FORK.Pipe()

    def child() -> None:
        torch.set_num_threads(1)  # OpenMP would wait for threads that a fork leaves behind
        sender.send(call())

    process = FORK.Process(target=child)
    process.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        process.join()
