"""One run, from settings to rows: train (or reuse a checkpoint), evaluate at every length, write."""

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from hydra.utils import instantiate

import data
from data.source import Source
from train.checks.dry_run import check_data, dry_run
from train.config.run_id import digests_of_code, finetuning_keys, packages, training_id_of
from train.config.schema import Config
from train.config.validation import Section
from train.context import Recipe, Run
from train.evaluation.evaluate import kernels, rows_and_scores
from train.evaluation.extensions import extended_models
from train.fit.processes import connect, prepare_process
from train.fit.trainer import load_or_train, restore_run
from train.results.about import Conditions, command_text, commit
from train.results.rows import Identity, read_rows, row_lines
from train.results.run_folder import RESULTS, has_gaps, is_complete, is_done, write_done, write_results
from train.results.summary_table import objective, summary_table
from train.runtime import machine
from train.runtime.ranks import decision_of_rank_zero, is_rank_zero, locked
from train.wandb_run import track

MANY = 2.0  # passes over the training text; above it a warning is printed

log = logging.getLogger(__name__)


def run_job(config: Config, folder: Path, run_id: str) -> float | None:
    """Do everything from settings to `DONE`; with `config.run`, evaluate the model of that run folder. Return
    what a search over settings lowers; None on processes but the first."""
    connect(config.trainer)
    done = decision_of_rank_zero(is_done(folder, run_id) and not has_gaps(folder))  # a lock would write
    if not done:
        with locked(folder, f"Another process does this run, in {folder}"):
            done = decision_of_rank_zero(is_complete(folder, run_id))
            if not done:
                complete(config, folder, run_id)
    if not is_rank_zero():
        return None
    if done:
        log.info("%s is done already.", folder)
    return objective(read_rows(folder / RESULTS), config.names.extension)


def complete(config: Config, folder: Path, run_id: str) -> None:
    """Check, prepare, fit, evaluate, write."""
    started, commit_at_start, versions = time.perf_counter(), commit(), packages()
    code_at_start = digests_of_code(config)
    prepare_process(config.trainer.threads)
    model, extensions = dry_run(config)
    source = data.load(config.named_data, config.model.vocab, Path(config.outputs, "data"))
    requested = config.trainer.precision, config.trainer.accelerator
    precision = decision_of_rank_zero(machine.resolved_precision(*requested))  # processors may differ
    trainer = config.trainer.model_copy(update={"precision": precision})
    run = Run(
        source, Recipe.of(config), trainer, config.evaluation, callbacks=config.callbacks,
        unfinished=folder / f"unfinished-{run_id}-{precision}",
    )  # fmt: skip
    windows = check_data(run, extensions)
    training_id = training_id_of(config, source.fingerprint, run.precision, code_at_start)
    keys = finetuning_keys(training_id, extensions)
    facts = {"precision": run.precision, "corpus": source.fingerprint, "training_id": training_id}
    facts |= {"commit": commit_at_start}
    with track(config, folder, run_id, facts) as tracker:
        loggers = [each for each in instantiate(config.logger, _convert_="all").values() if each is not None]
        run = replace(run, loggers=(*tracker.loggers, *loggers))
        passes = run.passes(extensions)
        if is_rank_zero() and passes is not None:
            log.info(reading(passes))
        if config.run is None:
            training, files = load_or_train(run, model, training_id, config.trainer.kept)
        else:
            training, files = restore_run(run, model, Path(config.run), config.checkpoint)
        models = {"none": model}
        if training.diverged_at is None:
            models = extended_models(run, model, extensions, keys)
        identity = Identity(
            run=folder.name, encoding=config.names.encoding, seed=config.seed,
            trained_length=run.trained_length, data=config.names.data, precision=run.precision,
            kernel=kernels(models["none"], config.model.kernel, max(run.lengths)),
            corpus=source.fingerprint, commit=commit_at_start, versions=versions,
        )  # fmt: skip
        rows, scores = rows_and_scores(run, models, windows, training, identity)
        if not is_rank_zero():
            return
        about = record(identity, config, source, started) | {
            "passes": passes, "diverged": training.reason, "code": code_at_start,
            "trained_with": training.model_dump(include=set(Conditions.model_fields)),
            "training": training.id, "history": training.history,
        }  # fmt: skip
        names = ["final.ckpt", *(file.name for file in files[1:])]
        kept = dict(zip(names, files, strict=False))
        if source.tokenizer:
            kept["tokenizer.json"] = source.tokenizer
        write_results(folder, row_lines(rows), scores, about, kept)
        tracker.log_results(folder, rows, folder / "final.ckpt" if config.wandb.artifact and files else None)
        write_done(folder, run_id)
        log.info("%s\nResults in %s", summary_table(rows), folder)


def record(identity: Identity, settings: Section, source: Source, started: float) -> dict[str, Any]:
    """Return what `run.json` holds of any run that began at `started` of `time.perf_counter`."""
    return identity.model_dump() | {
        "settings": settings.model_dump(mode="json"), "corpus_description": source.description,
        "command": command_text(), "machine": machine.description(), "threads": torch.get_num_threads(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"), "seconds": time.perf_counter() - started,
    }  # fmt: skip


def reading(passes: float) -> str:
    """Return a sentence on how often the training text is read. Above MANY passes it is a warning."""
    sentence = f"The training reads its text {passes:,.2f} times"
    if passes <= MANY:
        return f"{sentence}."
    return (
        f"Warning: {sentence[0].lower()}{sentence[1:]}, so that it may learn the text by heart: raise "
        "data.limit, give more text, or lower trainer.max_steps."
    )
