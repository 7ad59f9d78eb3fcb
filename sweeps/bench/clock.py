"""Clocks: processor time, and medians of interleaved rounds."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch

from models.encodings import names
from train.config.validation import Natural, Section

Measurement = tuple[str, str, int, float]  # kind, model, length, value: the first fields of a Speed


class Options(Section):
    """The command line of `sweeps.bench`."""

    only: str = ""  # parts; empty: all
    encodings: str = ",".join(names())
    rounds: Natural = 15  # training steps of each model
    batch: Natural = 32  # sequences of a training step
    checkpoint: str = ""  # folder, Hub name or .gguf file, for the part of that name
    dtype: Literal["float32", "bfloat16"] = "float32"  # of its weights
    to: str = "outputs/bench"

    @property
    def names(self) -> list[str]:
        return self.encodings.split(",")


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def now() -> float:
    """Return processor time in seconds, which other processes disturb less, or else the time of the clock."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    elif torch.get_num_threads() == 1:
        return time.process_time()
    return time.perf_counter()  # processor time adds up over threads


def median_times(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each call; rounds interleave, so that a slow minute affects all calls."""
    for call in calls.values():
        call()
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = now()
            call()
            spent[name].append(now() - start)
    return {name: statistics.median(times) for name, times in spent.items()}
