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
Measurement = tuple[str, str, int, float]  # kind, model, length, value: the first fields of a Result


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def now() -> float:
    """Return seconds: of processor time, which other processes disturb less; else of the clock."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    elif torch.get_num_threads() == 1:
        return time.process_time()
    return time.perf_counter()  # processor time adds up over threads


def seconds(call: Callable[[], Any]) -> float:
    start = now()
    call()
    return now() - start


def median_times(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each; a slow minute of the machine strikes all of them."""
    for run in contenders.values():
        run()
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            spent[name].append(seconds(run))
    return {name: statistics.median(times) for name, times in spent.items()}


def added_memory(run: Callable[[], Any]) -> float:
    """Return the MiB that a call adds at the most to what is in use."""
    with suppress(OSError, AttributeError):  # what was freed would be used again without a trace
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    reset_peak_memory()
    before = peak_memory() or 0
    run()
    return max(0, (peak_memory() or 0) - before) / 2**20


def in_child(call: Callable[[], Any]) -> Any:
    """Return the result of a call in a forked process, which leaves its memory behind with it; CUDA, which
    cannot be forked, is called here."""
    if torch.cuda.is_available():
        return call()
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
