"""A part of the benchmarks, measured in this process; the last line that it prints is the measurements."""

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch

from sweeps.bench import evaluation, training
from sweeps.bench.clock import Measurement
from sweeps.bench.contenders import Shape
from sweeps.results import load_sweep
from train.paths import ROOT
from train.results.rows import ONCE
from train.runtime.machine import keep_memory

PARTS = "train", "peers", "peers_compiled", "evaluate", "longest", "sweep"


def measure(part: str, threads: int, rounds: int, batch: int, encodings: list[str]) -> list[Measurement]:
    """Return what a part of the benchmarks measures."""
    torch.set_num_threads(threads)
    keep_memory()
    shape = Shape(batch=batch)
    parts = {
        "train": lambda: training.measure(encodings, rounds, shape),
        "peers": lambda: training.measure_peers(rounds, shape),
        "peers_compiled": lambda: training.measure_compiled(rounds, shape),
        "evaluate": lambda: evaluation.measure(encodings, evaluation.LONG),
        "longest": lambda: evaluation.measure(encodings, evaluation.LONGEST),
        "sweep": measure_sweep,
    }
    return list(parts[part]())


def measure_sweep() -> Iterator[Measurement]:
    """Yield the minutes of the default sweep, data and report included, and its evaluation over training."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        line = [sys.executable, "-m", "train", "sweeps=encodings", f"outputs={folder}", "wandb.mode=offline"]
        subprocess.run(line, cwd=ROOT, stdout=sys.stderr, check=True)
        yield "sweep", "", 0, (time.perf_counter() - start) / 60
        runs = load_sweep(Path(folder) / "sweeps/encodings").runs
    spent = [(row.protocol, row.value or 0.0) for run in runs for row in run.rows if row.metric == "seconds"]
    training_seconds = sum(value for protocol, value in spent if protocol == ONCE)
    yield "sweep_evaluation", "", 0, sum(value for _, value in spent) / training_seconds - 1


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
