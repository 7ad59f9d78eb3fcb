"""One part of the benchmarks, measured in this process; the last line of its output holds the results."""

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
from sweeps.bench.clock import Measurement, Options
from sweeps.results import load_sweep
from train.paths import ROOT
from train.results.rows import ONCE
from train.runtime.machine import keep_memory


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


PARTS = {
    "train": training.measure,
    "peers": training.measure_peers,
    "peers_compiled": training.measure_compiled,
    "evaluate": evaluation.measure,
    "sweep": measure_sweep,
}


def main() -> None:
    warnings.filterwarnings("ignore")
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    keep_memory()
    options = Options(job["encodings"].split(","), job["rounds"], job["batch"])
    print(json.dumps(list(PARTS[job["part"]](options))))


if __name__ == "__main__":
    main()
