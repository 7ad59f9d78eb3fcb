"""The cost of a sweep besides training and evaluation: Lightning, the start of jobs, waiting."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from data.batch import Batch
from models.encodings import load
from models.gpt import GPT
from sweeps.bench.clock import now
from sweeps.bench.page import Measurement
from train.config.compose import compose_config
from train.context import ignore, trainer
from train.fit.callbacks import Progress
from train.fit.loss import mean_loss
from train.fit.module import Training
from train.fit.optimizer import optimizer_of

ROOT = Path(__file__).resolve().parents[2]
SOME = ("nope", "rope", "xpos", "alibi", "t5", "sandwich", "fire", "fox")  # the headline has thirty
VOCAB, WIDTH, DEPTH, HEADS, LENGTH, BATCH = 2048, 128, 4, 4, 64, 16


def lightning(rounds: int = 12, steps: int = 30) -> Iterator[Measurement]:
    """Yield the same steps by the Trainer, as a job runs it, and by a bare loop, in turns."""
    loops, fits = [], []
    for _ in range(rounds):
        loops += bare(steps)
        fits += fit_steps(steps)
    note = f"median step, {rounds} x {steps} in turns; default size"
    yield Measurement("loop_step", statistics.median(loops) * 1e3, "ms", note)
    yield Measurement("lightning_vs_loop", statistics.median(fits) / statistics.median(loops), "x", note)


def model() -> GPT:
    shape = {"heads": HEADS, "head_width": WIDTH // HEADS, "width": WIDTH, "depth": DEPTH, "length": LENGTH}
    return GPT(VOCAB, WIDTH, DEPTH, HEADS, [load("rope", **shape)])


def endless_source(stamps: list[float]) -> Any:
    """Text without end; notes when each batch was asked for."""
    noise = torch.Generator().manual_seed(0)

    def batch(*_: Any) -> Batch:
        stamps.append(now())
        text = torch.randint(VOCAB, (BATCH, LENGTH + 1), generator=noise)
        return Batch(text[:, :-1], text[:, 1:])

    return SimpleNamespace(batch=batch)


def step_times(stamps: list[float]) -> list[float]:
    return [b - a for a, b in pairwise(stamps[3:])]  # the first ones warm up


def bare(steps: int) -> list[float]:
    stamps: list[float] = []
    gpt, config, data = model(), compose_config().optimizer, endless_source(stamps)
    optimizer = optimizer_of(gpt, config, fused=True)
    for _ in range(steps):
        batch = data.batch()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = mean_loss(gpt, batch.tokens, batch.targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(gpt.parameters(), config.clip or 0)
        optimizer.step()
    return step_times(stamps)


def fit_steps(steps: int) -> list[float]:
    stamps: list[float] = []
    config = compose_config("trainer=cpu", f"batch={BATCH}")
    callbacks = [Progress(config.trainer.log_every, ignore)]
    more = {"max_steps": steps, "callbacks": callbacks}
    trainer(config.trainer, "bf16-mixed", **more).fit(
        Training(model(), endless_source(stamps), config, LENGTH)
    )
    return step_times(stamps)


def sweep(steps: int = 600) -> Iterator[Measurement]:
    """Whole sweeps in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tiny = [
            "model.width=32",
            "model.depth=1",
            "model.length=16",
            "trainer.max_steps=1",
            "evaluation.ladder=[1]",
        ]
        launch(place, "warm", "nope", "jobs=1", *tiny)  # builds the data
        single = launch(place, "one", "nope", "jobs=1", "seed=1", *tiny)
        five = launch(place, "five", "nope", "jobs=1", "seed=2,3,4,5,6", *tiny)
        note = "what each further job adds to a sweep of jobs that train one step"
        yield Measurement("job_startup_seconds", (five - single) / 4, "s", note)
        launch(place, "data", "nope", "jobs=1", "trainer.max_steps=1")
        wall = launch(place, "real", ",".join(SOME), f"trainer.max_steps={steps}")
        cores = len(os.sched_getaffinity(0))
        work = sum(work_seconds(file) for file in (place / "real").glob("*/results.jsonl"))
        note = (
            f"{len(SOME)} jobs of {steps} steps: wall time / (training and evaluation time / {cores} cores)"
        )
        yield Measurement("sweep_wall_vs_work", wall * cores / work, "x", note)


def default_sweep() -> Iterator[Measurement]:
    """Yield the default sweep, whole: data, all encodings, report."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        minutes = timed("headline", "sweeps=encodings", f"outputs={place}", "wandb.mode=offline") / 60
        files = list(place.glob("sweeps/encodings/*/results.jsonl"))
        note = (
            f"make sweep, {len(files)} runs, {len(os.sched_getaffinity(0))} cores, data and report included"
        )
        yield Measurement("headline_minutes", minutes, "min", note)
        training, everything = (
            sum(work_seconds(file, given) for file in files) for given in ({"training"}, ())
        )
        ratio = everything / training - 1
        yield Measurement("sweep_evaluation_vs_training", ratio, "x", f"seconds of its rows; {note}")


def launch(place: Path, name: str, encodings: str, *arguments: str) -> float:
    """Seconds that a sweep takes from the command line on."""
    given = [f"hydra.sweep.dir={place / name}", f"outputs={place}", f"encoding={encodings}", *arguments]
    return timed(name, "hydra.mode=MULTIRUN", "data.limit=1", "wandb.mode=offline", *given)


def timed(name: str, *arguments: str) -> float:
    start, command = time.perf_counter(), [sys.executable, "-m", "train", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The sweep '{name}' failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return time.perf_counter() - start


def work_seconds(file: Path, protocols: Collection[str] = ()) -> float:
    """Seconds that a job trained and evaluated, from its own rows, or those of some protocols."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [
        row for row in rows if row["metric"] == "seconds" and (not protocols or row["protocol"] in protocols)
    ]
    return float(sum(row["value"] for row in rows))
