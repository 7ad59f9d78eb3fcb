"""Evaluation of a checkpoint of transformers under every extension.

yardstick evaluate model=path/to/folder evaluation.extensions=[crop,window,yarn,ntk]
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, Self, cast

import torch
from pydantic import model_validator

import data
from conf.errors import UsageError
from data.digest import code_digest, foreign_code, short_digest
from data.source import Source
from models.bounds import Count
from train.checks.dry_run import check_data
from train.config.compose import compose_root, quoted, resolved_settings
from train.config.run_id import BY_DIGEST, NOT_IN_TRAINING, finetuning_id_of, finetuning_keys, packages
from train.config.schema import EvaluatedConfig
from train.context import Recipe, Run
from train.errors import command_line
from train.evaluation.evaluate import rows_and_scores
from train.evaluation.extensions import SelectedExtensions, finetuned_models, selected_extensions
from train.evaluation.model import Models
from train.fit.processes import connect, prepare_process
from train.paths import ROOT
from train.public.adapters import with_adapters
from train.public.checkpoint import Checkpoint, load_checkpoint, rotations
from train.results.about import commit
from train.results.rows import Identity, row_lines
from train.results.run_folder import is_complete, write_done, write_results
from train.results.summary_table import summary_table
from train.run import reading, record
from train.runtime import machine
from train.runtime.ranks import decision_of_rank_zero, is_rank_zero, locked
from train.wandb_run import track

TRAINING = ("models", "data", "train/fit", "train/context.py", "train/public")  # code
EVALUATION = ("train/evaluation", "train/results/protocols.py")
NOT_IN_RECIPE = {"dtype": True, "names": True}  # the resolved type is beside it; labels in the rows


class PublicConfig(EvaluatedConfig):
    """The settings of `conf/checkpoint.yaml`."""

    checkpoint: str
    length: Count | None
    dtype: Literal["auto", "float32", "bfloat16"]

    @model_validator(mode="after")
    def can_be_trained(self) -> Self:
        parts = self.trainer.processes * self.trainer.accumulate
        if not self.extension.finetune_steps:
            return self
        if self.optimizer.matrices != "adamw" or self.trainer.compile:
            raise UsageError(
                "Adapters of a checkpoint are trained by optimizer=adamw and trainer.compile=false."
            )
        if self.batch % parts:
            raise UsageError(f"batch={self.batch} cannot be split evenly over {parts} devices and parts.")
        return self


@dataclass(frozen=True)
class Evaluation:
    """A checkpoint with text and extensions, the ids of fine-tunings, and that of the evaluation."""

    config: PublicConfig
    checkpoint: Checkpoint
    source: Source
    chosen: SelectedExtensions
    ids: dict[str, str]
    id: str

    @property
    def folder(self) -> Path:
        name = f"{self.config.names.extension}-{self.id}"
        return Path(self.config.outputs, "checkpoints", self.checkpoint.name, name)


def public_config(overrides: Sequence[str]) -> PublicConfig:
    """Return the settings of `conf/checkpoint.yaml` with overrides, of which `model` names the checkpoint."""
    words = [
        f"checkpoint={quoted(word.removeprefix('model='))}" if word.startswith("model=") else word
        for word in overrides
    ]
    return PublicConfig.of(resolved_settings(compose_root(words, "checkpoint")))


def weights_dtype(config: PublicConfig) -> torch.dtype:
    """Return the type of the weights, with `auto` resolved for the machine of the first process."""
    requested = config.trainer.precision, config.trainer.accelerator
    precision = decision_of_rank_zero(machine.resolved_precision(*requested))  # processors may differ
    name = (
        ("bfloat16" if precision == "bf16-mixed" else "float32") if config.dtype == "auto" else config.dtype
    )
    return cast(torch.dtype, getattr(torch, name))


def evaluate_checkpoint(config: PublicConfig) -> Path:
    """Evaluate a checkpoint of transformers, and return the folder of its rows."""
    prepare_process(config.trainer.threads)
    connect(config.trainer)
    evaluation = prepared(config)
    folder = evaluation.folder
    with locked(folder, f"Another process does this evaluation, in {folder}"):
        if not decision_of_rank_zero(is_complete(folder, evaluation.id)):
            write_evaluation(evaluation)
        elif is_rank_zero():
            print(f"{folder} is done already.")
    return folder


def prepared(config: PublicConfig) -> Evaluation:
    """Load the checkpoint and its text. Raise UsageError if an extension does not fit."""
    outputs, dtype = Path(config.outputs, "data"), weights_dtype(config)
    checkpoint = load_checkpoint(config.checkpoint, dtype, outputs / "tokenizers", config.length)
    if is_rank_zero():
        print(f"{checkpoint.name}: {rotations(checkpoint.ropes)}", flush=True)
    settings = config.named_data | {"tokenizer": str(checkpoint.tokenizer)}
    source = data.load(settings, checkpoint.model.head.out_features, outputs)
    chosen = selected_extensions(config, checkpoint.model.plain)
    if chosen["none"].finetune_steps:
        raise UsageError("extension.finetune_steps needs an extension to train under: add extension=plain.")
    recipe = config.model_dump(mode="json", exclude=NOT_IN_TRAINING | BY_DIGEST | NOT_IN_RECIPE)
    code = code_digest(*(ROOT / place for place in TRAINING), *foreign_code(config.data))
    training_id = short_digest([recipe, str(dtype), source.fingerprint, versions(), code])
    keys = finetuning_keys(training_id, chosen)
    ids = {name: finetuning_id_of(key, checkpoint.digest) for name, key in keys.items()}
    after = config.model_dump(mode="json", include={"evaluation", "names"})
    run_id = short_digest([ids, after, code_digest(*(ROOT / place for place in EVALUATION))])
    return Evaluation(config, checkpoint, source, chosen, ids, run_id)


def versions() -> str:
    return packages("transformers", "peft")


def write_evaluation(evaluation: Evaluation) -> None:
    """Evaluate a checkpoint, and write the rows and the description of the run."""
    started, at_start, config, folder = time.perf_counter(), commit(), evaluation.config, evaluation.folder
    checkpoint, source = evaluation.checkpoint, evaluation.source
    precision = str(weights_dtype(config)).removeprefix("torch.")
    trainer = config.trainer.model_copy(update={"precision": "32-true"})  # the weights have the precision
    place = f"{config.outputs}/trained/{checkpoint.name}"
    recipe = Recipe(place, "clm", checkpoint.trained_length, 1, 0, config.seed, config.optimizer)
    run = Run(source, recipe, trainer, config.evaluation, unfinished=folder / f"unfinished-{evaluation.id}")
    identity = Identity(
        run=folder.name, encoding=checkpoint.name, seed=config.seed, trained_length=run.trained_length,
        data=config.names.data, precision=precision, kernel="auto", corpus=source.fingerprint,
        commit=at_start, versions=versions(),
    )  # fmt: skip
    windows = check_data(run, evaluation.chosen)
    facts = identity.model_dump(include={"encoding", "precision", "corpus", "commit"})
    with track(config, folder, evaluation.id, facts) as tracker:
        models = public_models(evaluation, replace(run, loggers=tuple(tracker.loggers)))
        rows, scores = rows_and_scores(run, models, windows, None, identity)
        if not is_rank_zero():
            return
        about = record(identity, config, source, started) | {"training": checkpoint.digest[:8], "history": []}
        write_results(folder, row_lines(rows), scores, about, {"tokenizer.json": checkpoint.tokenizer})
        tracker.log_results(folder, rows, None)
        write_done(folder, evaluation.id)
    print(f"{summary_table(rows)}\nResults in {folder}", flush=True)


def public_models(evaluation: Evaluation, run: Run) -> Models:
    """Return the checkpoint under each extension, with trained adapters where the settings ask for them."""
    config, model = evaluation.config, evaluation.checkpoint.model
    models = {name: model.under(name, e.parameters) for name, e in evaluation.chosen.items()}
    length = config.extension.finetune_length or run.recipe.length
    recipe = replace(run.recipe, length=length, batch=config.batch)  # whose sequences `batch` counts
    trainable, further = partial(with_adapters, seed=config.seed), replace(run, recipe=recipe)
    if is_rank_zero() and (passes := further.passes(evaluation.chosen)):
        print(reading(passes), flush=True)
    return finetuned_models(further, models, evaluation.chosen, evaluation.ids, trainable)


def entry() -> None:
    """Run `yardstick evaluate model=...`."""
    with command_line(__doc__):
        evaluate_checkpoint(public_config(sys.argv[1:]))


if __name__ == "__main__":
    entry()
