"""Measure training, long evaluation and other libraries' models on this machine, and write a page about it.

python -m sweeps.bench                                        # to outputs/bench
python -m sweeps.bench only=train,evaluate encodings=rope,alibi
python -m sweeps.bench to=docs                                # the page of the documentation
python -m sweeps.bench only=checkpoint checkpoint=<folder, Hub name or .gguf file> dtype=bfloat16
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import torch

from conf.errors import UsageError, no_choice
from models.encodings import names
from sweeps import command
from sweeps.bench import checkpoint, evaluation, training
from sweeps.bench.clock import Measurement, Options
from sweeps.bench.page import Speed, write_page
from sweeps.results import load_sweep
from train.config.compose import dotted
from train.paths import ROOT
from train.results.rows import ONCE
from train.runtime.machine import keep_memory, processor


def measure_sweep(_: Options) -> Iterator[Measurement]:
    """Yield the minutes of `quick.yaml`, with data and report; then the ratio of evaluation to training."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        line = [sys.executable, "-m", "train", "sweeps=quick", f"outputs={folder}", "wandb.mode=offline"]
        subprocess.run(line, cwd=ROOT, stdout=sys.stderr, check=True)
        yield "sweep", "", 0, (time.perf_counter() - start) / 60
        runs = load_sweep(Path(folder) / "sweeps/quick").runs
    spent = [(row.protocol, row.value or 0.0) for run in runs for row in run.rows if row.metric == "seconds"]
    training_seconds = sum(value for protocol, value in spent if protocol == ONCE)
    yield "sweep_evaluation", "", 0, sum(value for _, value in spent) / training_seconds - 1


PARTS: dict[str, Callable[[Options], Iterator[Measurement]]] = {
    "train": training.measure,
    "peers": training.measure_peers,
    "peers_compiled": training.measure_compiled,
    "evaluate": evaluation.measure,
    "sweep": measure_sweep,
    "checkpoint": checkpoint.measure,
}


def main() -> None:
    options = Options.of(dotted(sys.argv[1:]))
    parts, folder = options.only.split(",") if options.only else [*PARTS], Path(options.to)
    for key, given, known in (("part", parts, [*PARTS]), ("encoding", options.names, names())):
        for name in set(given) - set(known):
            raise UsageError(no_choice(key, name, known))
    folder.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    keep_memory()
    is_gpu, cpu = torch.cuda.is_available(), f"{processor()}, {os.cpu_count()} cores"
    machine = f"{torch.cuda.get_device_name() if is_gpu else cpu}, torch {torch.__version__}"
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    for part in parts:
        for threads in (1, 2) if part == "peers" else (1,):
            torch.set_num_threads(threads)
            for kind, model, length, value in PARTS[part](options):
                print(f"{kind:18} {model:32} {length:6} {threads} {value:10.4g}", flush=True)
                write_page([Speed(kind, model, length, threads, value, machine, date)], folder)


if __name__ == "__main__":
    command(main)
