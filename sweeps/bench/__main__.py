"""python -m sweeps.bench [--only train,compiled,evaluate] [--rounds 15] [--into docs/epyc]"""

import argparse
import logging
import os
import warnings
from pathlib import Path

import torch

from models.encodings import names
from sweeps.bench import evaluation, instructions, jobs, training
from sweeps.bench.page import DOCS, Measurement, write_page
from train.runtime.machine import keep_memory

PARTS = (
    "train",
    "compiled",
    "instructions",
    "instructions_threads",
    "instructions_compiled",
    "instructions_evaluate",
    "evaluate",
    "longest",
    "lightning",
    "sweep",
    "headline",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure, and write docs/benchmarks.*")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=15, help="training steps per contender")
    parser.add_argument("--encodings", default=",".join(names()), help="those that are evaluated")
    parser.add_argument(
        "--into", type=Path, default=DOCS, help="folder of benchmarks.*, for each processor its own"
    )
    chosen = parser.parse_args()
    wanted = chosen.only.split(",")
    if set(wanted) - set(PARTS):
        parser.error(f"--only takes some of {', '.join(PARTS)}.")
    encodings = chosen.encodings.split(",")
    if unknown := set(encodings) - set(names()):
        parser.error(f"--encodings: there is no {', '.join(sorted(unknown))}.")
    try:
        chosen.into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--into={chosen.into} cannot be made: {error.strerror}.")
    if not os.access(chosen.into, os.W_OK):
        parser.error(f"--into={chosen.into} cannot be written.")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    keep_memory()
    results: list[Measurement] = []
    measures = {
        "train": lambda: training.measure(chosen.rounds),
        "compiled": lambda: training.measure_compiled(chosen.rounds),
        "instructions": lambda: instructions.measure(chosen.rounds),
        "instructions_threads": lambda: instructions.measure(chosen.rounds, "--threads=2"),
        "instructions_compiled": lambda: instructions.measure(chosen.rounds, "--compiled"),
        "instructions_evaluate": lambda: instructions.measure_evaluation(encodings),
        "evaluate": lambda: evaluation.measure(encodings),
        "longest": lambda: evaluation.measure_longest(encodings),
        "lightning": jobs.lightning,
        "sweep": jobs.sweep,
        "headline": jobs.default_sweep,
    }
    for part in wanted:
        try:
            for result in measures[part]():
                print(f"{result.name:44} {result.value:12.4g} {result.unit}", flush=True)
                results.append(result)
        finally:  # what was measured before anything failed
            write_page(results, chosen.into)


if __name__ == "__main__":
    main()
