"""One run, from settings to rows: train (or reuse a checkpoint), evaluate at every length, write."""

import shlex
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import torch

from conf.choices import method_folders
from conf.errors import UsageError
from data.source import Windows
from models.gpt import GPT
from train.checks.attributed import attribute_errors
from train.checks.dry_run import check_data, dry_run
from train.config.run_id import cell, code, packages, training_cell
from train.config.schema import Config
from train.context import Run
from train.evaluation.best import best_checkpoint
from train.evaluation.evaluate import evaluate, kernels
from train.evaluation.extensions import extended_models
from train.fit.checkpoints import Stage, Trained, restore
from train.fit.trainer import load_or_train
from train.paths import ROOT
from train.results.about import about_run
from train.results.done import finish, has_gaps, is_done
from train.results.rows import Identity
from train.results.run_folder import Folder
from train.results.summary_table import outcome
from train.runtime import machine
from train.runtime.ranks import is_rank_zero, locked
from train.wandb_run import track


def run_job(config: Config, folder: Path, expected: str | None = None) -> None:
    """Do everything from settings to `DONE`; with `config.run`, evaluate the model of that run folder.

    UsageError where the id of the run is not the `expected` one.
    """
    place = Folder(folder, cell(config))
    if expected not in (None, place.cell):
        raise UsageError(f"Code or data changed since {folder.name} was queued: start the sweep again.")
    done = is_done(folder, place.cell) and not has_gaps(folder)  # known without a lock, which writes
    if not done:
        with locked(folder, f"Another process does this run, in {folder}"):
            done = place.is_done()
            if not done:
                complete(config, place)
    if done:
        print(f"{folder} is done already.")


def complete(config: Config, place: Folder) -> None:
    """Train, evaluate, write."""
    started, code_at_start = time.perf_counter(), code(config)
    with attribute_errors(config):
        model, extensions = dry_run(config)
        run = Run.of(config, code_at_start)
        windows = check_data(run, extensions)
    with track(config, place.path, place.cell) as tracker:
        run = replace(run, log=tracker.log_training)
        training, checkpoints = trained_model(run, model)
        models, chosen = extended_models(run, model, extensions, training.cell), {}
        if config.checkpoint == "best":
            models["best"], chosen["best"] = best_checkpoint(run, model, checkpoints, training.cell, windows)
        known = row_identity(run, model, place.path)
        if is_rank_zero():
            tell_windows(windows, config.evaluation.windows)
            print(f"Evaluating at lengths {min(run.lengths):,} to {max(run.lengths):,}", flush=True)
        rows, scores = evaluate(run, models, windows, training, known)
        if not is_rank_zero():
            return
        about = known | chosen | {
            "settings": config.model_dump(mode="json"), "corpus_description": run.source.description,
            "code": code_at_start,
            "command": command_of(config), "machine": machine.description(),
            "threads": torch.get_num_threads(),
            "trained_with": {key: getattr(training, key) for key in ("machine", "threads", "processes")},
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": time.perf_counter() - started, "training": training.cell, "history": training.history,
        }  # fmt: skip
        tokenizer = [run.source.tokenizer] if run.source.tokenizer else []
        place.write(rows, scores, about, [*checkpoints, *tokenizer])
        tracker.log_rows(rows)
        finish(place.path, place.cell)
        print(f"{outcome(rows)}\nResults in {place.path}", flush=True)


def trained_model(run: Run, model: GPT) -> tuple[Trained, list[Path]]:
    """Return the weights, of a run folder, of an earlier run of the same settings, or trained now; their
    file, and those of the steps that are kept."""
    config, knobs, share = run.config, run.config.trainer, run.config.checkpoint
    if config.run is None:
        training = training_cell(config, run.source.fingerprint, run.precision, run.code)
        folder = Path(config.outputs) / "trained" / f"{config.names.encoding}-s{config.seed}-{training}"
    else:
        about, folder = about_run(Path(config.run)), Path(config.run)
        training = about.training
        if about.corpus != run.source.fingerprint:
            raise UsageError(
                f"What data={about.data} gives is not what {folder} was trained on: run it again."
            )
    stage = Stage(training, folder, config.model.length, knobs.max_steps, knobs.kept)
    if config.run is None:
        return load_or_train(run, model, stage), [stage.final, *stage.kept]
    file = stage.at(knobs.step(share)) if isinstance(share, float) else stage.final
    trained = restore(file, model, training)
    trained.replay(run.log, stage.section)
    return trained, [file, *(stage.kept if share == "best" else [])]


def tell_windows(windows: Windows | None, wanted: int) -> None:
    """Print that numbers come from fewer windows than was asked for, where held-out text is short."""
    if windows is not None and len(windows.tokens) < wanted:
        count, length = len(windows.tokens), windows.tokens.size(1) - 1
        print(f"Held-out text has {count:,} windows of {length:,} tokens; evaluation.windows={wanted:,}.")


def row_identity(run: Run, model: GPT, folder: Path) -> Identity:
    """Return what all rows share."""
    config = run.config
    return {
        "run": folder.name, "encoding": config.names.encoding, "seed": config.seed,
        "trained_length": run.trained_length, "data": config.names.data,
        "kernel": kernels(model, config.model.kernel, max(run.lengths)),
        "precision": run.precision, "corpus": run.source.fingerprint, "commit": commit(),
        "versions": packages(),
    }  # fmt: skip


def command_of(config: Config) -> str:
    """Return the command that makes this run again."""
    module = "train" if config.run is None else "train.evaluate"
    methods = [f"methods={folder}" for folder in method_folders()]
    return f"python -m {module} " + shlex.join(
        [*methods, *(arg for arg in sys.argv[1:] if not arg.startswith("hydra."))]
    )


def commit() -> str:
    """Return the commit of the code, with `+` where its files were changed or added; empty outside a
    repository."""
    run = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        head = run(["git", "rev-parse", "--short=12", "HEAD"]).stdout.strip()
        status = run(["git", "status", "--porcelain", "-uall"]).stdout.splitlines()
    except OSError:
        return ""
    return head + "+" * any(not line.startswith("??") or line.endswith((".py", ".yaml")) for line in status)
