"""One run, from settings to rows: train (or find the training), evaluate at every length, write."""

import json
import logging
import os
import platform
import shlex
import subprocess
import sys
import time
import warnings
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Trainer

import data
from data.source import Source
from models.gpt import GPT
from train import build, fit
from train.answers import asks
from train.check import check, check_protocols
from train.evaluate import evaluate
from train.folder import Folder
from train.precision import keep_memory, rank, resolved
from train.settings import ROOT, cell, several, training_cell, versions
from train.track import tracked
from train.variants import variants, wanted


def job(settings: dict[str, Any], folder: Path, of: Path | None = None) -> None:
    """Everything from settings to `DONE`; with the trained model of the run folder `of`, evaluation only."""
    check(settings)
    quiet()
    place = Folder(folder, cell(settings))
    if place.is_done():
        print(f"{folder} is done already.")
        return
    started = time.perf_counter()
    use_threads(settings["trainer"]["threads"])
    keep_memory()
    torch.set_flush_denormal(True)  # weights of far keys underflow, and denormals are several times slower
    precision = resolved(settings["trainer"]["precision"], settings["trainer"]["accelerator"])
    model = build.gpt(settings)
    asked = wanted(settings, build.encodings(settings))
    source = load_data(settings)
    make = partial(trainer, settings["trainer"], precision)
    trained_length = source.trained_length or settings["model"]["length"]
    settings["evaluation"]["lengths"] = lengths = wanted_lengths(settings["evaluation"], trained_length)
    windows = source.windows(settings["evaluation"]["windows"], max(lengths))
    check_protocols(settings, windows is not None)
    asks(source, lengths)  # says so where a length is too short, before anything is trained
    identity = {
        "run": folder.name, "encoding": settings["names"]["encoding"], "seed": settings["seed"],
        "trained_length": trained_length, "data": settings["names"]["data"],
        "precision": precision, "corpus": source.fingerprint, "commit": commit(), "versions": versions(),
    }  # fmt: skip
    with tracked(**tracking(settings, folder)) as run:
        found = model_of(of, model, source, settings, precision, make, run.log_training)
        models = variants(model, source, settings, asked, found.cell, make, run.log_training)
        rows, documents = evaluate(make(), models, windows, source, settings, identity, found)
        if rank() == 0:
            about = identity | {
                "settings": settings, "corpus_description": source.description, "command": command(),
                "machine": machine(), "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "seconds": time.perf_counter() - started, "training": found.cell, "history": found.history,
            }  # fmt: skip
            place.write(rows, documents, about, found.file)
            run.log_rows(rows)
            place.finish()
            print(f"Results in {folder}", flush=True)


def model_of(
    of: Path | None,
    model: GPT,
    source: Source,
    settings: dict[str, Any],
    precision: str,
    make: fit.Make,
    log: fit.Log,
) -> fit.Trained:
    """The trained weights: of a run folder, of an earlier run of the same settings, or trained now."""
    if of is not None:
        about = json.loads((of / "run.json").read_text())
        if about["corpus"] != source.fingerprint:
            raise ValueError(
                f"What data={about['data']} gives is not what {of} was trained on: run it again."
            )
        return fit.restore(model, of / "final.ckpt", about["training"])
    training = training_cell(settings, source.fingerprint, precision)
    length, steps = settings["model"]["length"], settings["trainer"]["max_steps"]
    return fit.trained(model, source, settings, training, length, steps, make, log)


def tracking(settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """How W&B sees this run; only the first process shows itself."""
    return {
        "settings": settings["wandb"] if rank() == 0 else settings["wandb"] | {"mode": "disabled"},
        "name": folder.name,
        "group": folder.parent.name,
        "folder": Path(settings["outputs"]),
        "config": settings
        | {"encoding": settings["names"]["encoding"], "encoding_settings": settings["encoding"]},
    }


def load_data(settings: dict[str, Any]) -> Source:
    chosen = settings["data"] | {"name": settings["names"]["data"]}
    source: Source = data.load(chosen, settings["model"]["vocab"], Path(settings["outputs"]) / "data")
    return source


def wanted_lengths(chosen: dict[str, Any], trained_length: int) -> list[int]:
    """The lengths to evaluate at: tokens, or what a task counts."""
    if chosen["lengths"] != "ladder":
        return sorted(set(chosen["lengths"]))
    return sorted({int(trained_length * times) for times in chosen["ladder"]})


def trainer(knobs: dict[str, Any], precision: str, **more: Any) -> Trainer:
    """Lightning's Trainer for training and for evaluation."""
    more.setdefault("enable_checkpointing", bool(more.get("callbacks")))
    strategy = "auto"
    if several(knobs):
        strategy = "ddp" if knobs["strategy"] == "auto" else knobs["strategy"]
    return Trainer(
        accelerator=knobs["accelerator"],
        devices=knobs["devices"],
        num_nodes=knobs["num_nodes"],
        strategy=strategy,
        precision=precision,  # type: ignore[arg-type]
        logger=False,
        enable_progress_bar=sys.stdout.isatty(),
        enable_model_summary=False,
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        max_epochs=-1,
        **more,
    )


def use_threads(threads: int | str) -> None:
    if threads != "auto":
        torch.set_num_threads(int(threads))


def quiet() -> None:
    """No tips of Lightning's, no warnings about what is meant to be so; but what the data tell."""
    told = logging.getLogger("data")
    if not told.handlers:
        told.addHandler(Said())
        told.setLevel(logging.INFO)
    for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*is not a supported tensor core.*")


class Said(logging.Handler):
    """A message as a line of output."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), flush=True)


def command() -> str:
    return "python -m train " + shlex.join(arg for arg in sys.argv[1:] if not arg.startswith("hydra."))


def machine() -> str:
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"{processor()}, {os.cpu_count()} cores, {gpu}, Python {platform.python_version()}"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def commit() -> str:
    """The commit of the code, with `+` where it was changed since; empty outside a repository."""
    run = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        head = run(["git", "rev-parse", "--short=12", "HEAD"]).stdout.strip()
        return head + ("+" if head and run(["git", "status", "--porcelain", "-uno"]).stdout.strip() else "")
    except OSError:
        return ""
