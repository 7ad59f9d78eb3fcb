"""Evaluation of a checkpoint of transformers under every extension.

yardstick evaluate model=path/to/folder evaluation.extensions=[crop,window,yarn,ntk]
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import torch

import data
from data.code import code_digest, short_digest
from data.source import Source
from models.bounds import Count, Seed
from models.registry import encoding_fits, needs_more, read
from train.checks.dry_run import check_data
from train.config.cli import quoted
from train.config.compose import compose_root, resolved_settings
from train.config.run_id import packages
from train.config.sections import EvaluationConfig, ExtensionConfig, Name, OptimizerConfig, TrainerConfig
from train.config.validation import Section
from train.context import Recipe, Run
from train.errors import command_line
from train.evaluation.evaluate import rows_and_scores
from train.evaluation.model import EvaluatedModel
from train.fit.processes import prepare_process
from train.paths import ROOT
from train.public.checkpoint import Checkpoint, load_checkpoint, rotations
from train.results.about import commit
from train.results.rows import Identity, row_lines
from train.results.run_folder import is_complete, write_done, write_results
from train.results.summary_table import summary_table
from train.run import record
from train.runtime import machine
from train.runtime.ranks import locked

CODE = ("models", "data", "train/evaluation", "train/public", "train/results/protocols.py")
TRAINED = cast(OptimizerConfig, None)  # nothing is optimized


class PublicNames(Section):
    extension: Name
    data: Name


class PublicConfig(Section):
    """The settings of `conf/checkpoint.yaml`."""

    checkpoint: str
    length: Count | None
    dtype: Literal["auto", "float32", "bfloat16"]
    seed: Seed
    outputs: str
    extension: ExtensionConfig
    trainer: TrainerConfig
    evaluation: EvaluationConfig
    data: dict[str, Any]
    names: PublicNames


def public_config(overrides: Sequence[str]) -> PublicConfig:
    """Return the settings of `conf/checkpoint.yaml` with overrides, of which `model` names the checkpoint."""
    words = [
        f"checkpoint={quoted(word.removeprefix('model='))}" if word.startswith("model=") else word
        for word in overrides
    ]
    return PublicConfig.of(resolved_settings(compose_root(words, "checkpoint")))


def weights_dtype(config: PublicConfig) -> torch.dtype:
    """Return the type of the weights, with `auto` resolved for this machine."""
    is_fast = machine.resolved_precision("auto", config.trainer.accelerator) == "bf16-mixed"
    name = ("bfloat16" if is_fast else "float32") if config.dtype == "auto" else config.dtype
    return cast(torch.dtype, getattr(torch, name))


def public_models(checkpoint: Checkpoint, config: PublicConfig) -> dict[str, EvaluatedModel]:
    """Return the model under no extension, the chosen one and those of `evaluation.extensions`: of a group
    those that fit."""
    models: dict[str, EvaluatedModel] = {"none": cast(EvaluatedModel, checkpoint.model)}
    names, is_group = config.evaluation.named, isinstance(config.evaluation.extensions, str)
    plain = checkpoint.model.plain[0]
    fitting = [
        name for name in names if not is_group or (encoding_fits(name, plain) and not needs_more(name))
    ]
    for name in dict.fromkeys((config.names.extension, *fitting)):
        if name != "none":
            is_chosen = name == config.names.extension
            settings = config.extension.parameters if is_chosen else read("extension", name)
            models[name] = cast(EvaluatedModel, checkpoint.model.under(name, settings))
    return models


def evaluate_checkpoint(config: PublicConfig) -> Path:
    """Evaluate a checkpoint of transformers, and return the folder of its rows."""
    prepare_process(config.trainer.threads)
    outputs, dtype = Path(config.outputs), weights_dtype(config)
    checkpoint = load_checkpoint(config.checkpoint, dtype, outputs / "data/tokenizers", config.length)
    print(f"{checkpoint.name}: {rotations(checkpoint.ropes)}", flush=True)
    settings = config.data | {"name": config.names.data, "tokenizer": str(checkpoint.tokenizer)}
    source = data.load(settings, checkpoint.model.head.out_features, outputs / "data")
    chosen = config.model_dump(mode="json", exclude={"outputs", "trainer", "checkpoint"})
    code = code_digest(*(ROOT / place for place in CODE))
    run_id = short_digest([chosen, checkpoint.digest, str(dtype), source.fingerprint, packages(), code])
    folder = outputs / "checkpoints" / checkpoint.name / f"{config.names.extension}-{run_id}"
    with locked(folder, f"Another process does this evaluation, in {folder}"):
        if is_complete(folder, run_id):
            print(f"{folder} is done already.")
        else:
            write_evaluation(config, checkpoint, source, folder)
            write_done(folder, run_id)
    return folder


def write_evaluation(config: PublicConfig, checkpoint: Checkpoint, source: Source, folder: Path) -> None:
    """Evaluate a checkpoint, and write the rows and the description of the run."""
    started, at_start = time.perf_counter(), commit()
    trainer = config.trainer.model_copy(update={"precision": "32-true"})  # the weights have the precision
    recipe = Recipe("", "clm", checkpoint.trained_length, 1, 1, config.seed, TRAINED)
    run = Run(source, recipe, trainer, config.evaluation)
    identity = Identity(
        run=folder.name, encoding=checkpoint.name, seed=config.seed, trained_length=run.trained_length,
        data=config.names.data, precision=str(weights_dtype(config)).removeprefix("torch."), kernel="auto",
        corpus=source.fingerprint, commit=at_start, versions=packages(),
    )  # fmt: skip
    models = public_models(checkpoint, config)
    windows = check_data(run, {})
    rows, scores = rows_and_scores(run, models, windows, None, identity)
    about = record(identity, config, source, started) | {"training": checkpoint.digest[:8], "history": []}
    write_results(folder, row_lines(rows), scores, about, {"tokenizer.json": checkpoint.tokenizer})
    print(f"{summary_table(rows)}\nResults in {folder}", flush=True)


def entry() -> None:
    """Run `yardstick evaluate model=...`."""
    with command_line(__doc__):
        evaluate_checkpoint(public_config(sys.argv[1:]))


if __name__ == "__main__":
    entry()
