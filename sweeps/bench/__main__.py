"""Measure training, long evaluation and other libraries' models on this machine, and write a page about it.

python -m sweeps.bench                                        # to outputs/bench
python -m sweeps.bench only=train,evaluate encodings=rope,alibi
python -m sweeps.bench to=docs                                # the page of the documentation
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

from conf.errors import UsageError
from models.encodings import names
from sweeps import command
from sweeps.bench.instructions import instruction_sets, limited_environment
from sweeps.bench.measure import PARTS
from sweeps.bench.page import Result, earlier_results, write_page
from train.config.compose import dotted
from train.config.validation import Natural, Section, did_you_mean
from train.runtime.machine import processor

EVERY_SET = "peers", "peers_compiled", "evaluate"  # the other parts are measured under the largest set alone


class Arguments(Section):
    """The command line of `sweeps.bench`."""

    only: str = ",".join(PARTS)
    encodings: str = ",".join(names())
    rounds: Natural = 15  # training steps of each model
    batch: Natural = 32  # sequences of a training step
    to: str = "outputs/bench"


def results_of(isa: str, part: str, threads: int, arguments: Arguments) -> list[Result]:
    """Measure in a process of its own, because libraries choose their instructions when they load."""
    job = arguments.model_dump() | {"part": part, "threads": threads}
    line = [sys.executable, "-m", "sweeps.bench.measure", json.dumps(job)]
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
    arguments = Arguments.of(dotted(sys.argv[1:]))
    only, folder = arguments.only.split(","), Path(arguments.to)
    for key, given, known in (("only", only, PARTS), ("encodings", arguments.encodings.split(","), names())):
        for name in set(given) - set(known):
            raise UsageError(f"{key}: there is no '{name}'.{did_you_mean(name, known)}")
    folder.mkdir(parents=True, exist_ok=True)
    earlier_results(folder)  # a mistake is said before anything is measured
    sets = instruction_sets()
    for part in only:
        for isa in sets if part in EVERY_SET else sets[:1]:
            for threads in (1, 2) if part == "peers" else (1,):
                results = results_of(isa, part, threads, arguments)
                for r in results:
                    print(
                        f"{r.kind:18} {r.model:32} {r.length:6} {isa:12} {threads} {r.value:10.4g}",
                        flush=True,
                    )
                write_page(results, folder)


if __name__ == "__main__":
    command(main)
