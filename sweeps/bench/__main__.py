"""Measure training, long evaluation and other libraries' models on this machine, and write a page about it.

python -m sweeps.bench                                                  # to outputs/bench
python -m sweeps.bench --only train,evaluate --encodings rope,alibi
python -m sweeps.bench --to docs                                        # to the page of the documentation
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

from models.encodings import names
from sweeps import command
from sweeps.bench.instructions import instruction_sets, limited_environment
from sweeps.bench.measure import PARTS
from sweeps.bench.page import Result, write_page
from train.runtime.machine import processor

EVERY_SET = "peers", "peers_compiled", "evaluate"  # the other parts are measured under the largest set alone


def results_of(isa: str, part: str, threads: int, **options: object) -> list[Result]:
    """Measure in a process of its own, as libraries choose their instructions when they load."""
    job = json.dumps({"part": part, "threads": threads, **options})
    line = [sys.executable, "-m", "sweeps.bench.measure", job]
    done = subprocess.run(line, env=limited_environment(isa), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Measuring {part} failed: {done.stderr[-2000:]}")
    gpu = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if gpu else f"{processor()}, {os.cpu_count()} cores"
    machine, date = f"{name}, torch {torch.__version__}", f"{datetime.now(UTC):%Y-%m-%d}"
    return [
        Result(kind, model, length, isa, threads, value, machine, date)
        for kind, model, length, value in json.loads(done.stdout.splitlines()[-1])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sweeps.bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--encodings", default=",".join(names()), help="those that are measured")
    parser.add_argument("--rounds", type=int, default=15, help="training steps of each model")
    parser.add_argument("--batch", type=int, default=32, help="sequences of a training step")
    parser.add_argument("--to", type=Path, default=Path("outputs/bench"), help="folder of benchmarks.*")
    options = parser.parse_args()
    only, encodings = options.only.split(","), options.encodings.split(",")
    for option, given, known in (("--only", only, PARTS), ("--encodings", encodings, names())):
        if unknown := set(given) - set(known):
            parser.error(f"{option}: there is no {', '.join(sorted(unknown))}.")
    options.to.mkdir(parents=True, exist_ok=True)
    sets = instruction_sets()
    shape = {"rounds": options.rounds, "batch": options.batch}
    for part in only:
        for isa in sets if part in EVERY_SET else sets[:1]:
            for threads in (1, 2) if part == "peers" else (1,):
                results = results_of(isa, part, threads, encodings=encodings, **shape)
                for r in results:
                    print(
                        f"{r.kind:18} {r.model:32} {r.length:6} {isa:12} {threads} {r.value:10.4g}",
                        flush=True,
                    )
                write_page(results, options.to)


if __name__ == "__main__":
    command(main)
