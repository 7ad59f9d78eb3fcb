"""Evaluation of a checkpoint of transformers under every extension.

yardstick evaluate model=path/to/folder evaluation.extensions=[crop,window,yarn,ntk]
"""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import torch
from omegaconf import OmegaConf

import data
from data.code import short_digest
from models.bounds import Count, Seed
from models.registry import read
from train.config.cli import quoted
from train.config.compose import compose_root
from train.config.run_id import packages
from train.config.sections import EvaluationConfig, ExtensionConfig, Name, OptimizerConfig, TrainerConfig
from train.config.validation import Section
from train.context import Recipe, Run
from train.errors import command_line
from train.evaluation.evaluate import rows_and_scores
from train.evaluation.model import EvaluatedModel
from train.fit.processes import prepare_process
from train.public.checkpoint import Checkpoint, load_checkpoint, rotations
from train.results.about import command_text, commit
from train.results.rows import Identity, row_lines
from train.results.run_folder import is_done, write_done, write_results
from train.results.summary_table import summary_table
from train.runtime import machine


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


def public_config(overrides: list[str]) -> PublicConfig:
    """Return the settings of `conf/checkpoint.yaml` with overrides, of which `model` names the checkpoint."""
    named = [item.removeprefix("model=") for item in overrides if item.startswith("model=")]
    overrides = [item for item in overrides if not item.startswith("model=")]
    overrides += [f"checkpoint={quoted(place)}" for place in named]
    root = compose_root(overrides, "checkpoint")
    names = {group: root.hydra.runtime.choices[group] for group in ("extension", "data")}
    chosen = {key: value for key, value in root.items_ex(resolve=False) if key not in ("hydra", "names")}
    settings = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.create(chosen), resolve=True))
    return PublicConfig.of(settings | {"names": names})


def resolved_dtype(config: PublicConfig) -> torch.dtype:
    """Return the type of the weights."""
    if config.dtype != "auto":
        return torch.float32 if config.dtype == "float32" else torch.bfloat16
    is_fast = machine.resolved_precision("auto", config.trainer.accelerator) == "bf16-mixed"
    return torch.bfloat16 if is_fast else torch.float32


def public_models(checkpoint: Checkpoint, config: PublicConfig) -> dict[str, EvaluatedModel]:
    """Return the model under no extension, the chosen one and those of `evaluation.extensions`."""
    models: dict[str, EvaluatedModel] = {"none": cast(EvaluatedModel, checkpoint.model)}
    for name in dict.fromkeys((config.names.extension, *config.evaluation.named)):
        if name == "temperature" or name == "none":
            continue
        settings = config.extension.parameters if name == config.names.extension else read("extension", name)
        models[name] = cast(EvaluatedModel, checkpoint.model.under(name, settings))
    return models


def evaluate_checkpoint(config: PublicConfig) -> Path:
    """Evaluate a checkpoint of transformers, and return the folder of its rows."""
    started, at_start = time.perf_counter(), commit()
    prepare_process(config.trainer.threads)
    outputs = Path(config.outputs)
    dtype = resolved_dtype(config)
    checkpoint = load_checkpoint(config.checkpoint, dtype, outputs / "data/tokenizers", config.length)
    print(f"{checkpoint.name}: {rotations(checkpoint.ropes)}", flush=True)
    settings = config.data | {"name": config.names.data, "tokenizer": str(checkpoint.tokenizer)}
    source = data.load(settings, checkpoint.model.head.out_features, outputs / "data")
    trainer = config.trainer.model_copy(update={"precision": "32-true"})  # the weights have the precision
    nothing = cast(OptimizerConfig, None)  # is trained
    recipe = Recipe("", "clm", checkpoint.trained_length, 1, 1, config.seed, nothing)
    run = Run(source, recipe, trainer, config.evaluation)
    windows = source.windows(config.evaluation.windows, max(run.lengths))
    identity_of = config.model_dump(mode="json", exclude={"outputs", "trainer", "checkpoint"})
    run_id = short_digest(
        [identity_of, checkpoint.digest, str(dtype), source.fingerprint, packages(), at_start]
    )
    folder = outputs / "checkpoints" / checkpoint.name / f"{config.names.extension}-{run_id}"
    if is_done(folder, run_id):
        print(f"{folder} is done already.")
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    identity = Identity(
        run=folder.name, encoding=checkpoint.name, seed=config.seed, trained_length=run.trained_length,
        data=config.names.data, precision=str(dtype).removeprefix("torch."), kernel="auto",
        corpus=source.fingerprint, commit=at_start, versions=packages(),
    )  # fmt: skip
    models = public_models(checkpoint, config)
    rows, scores = rows_and_scores(run, models, windows, None, identity)
    about = identity.model_dump() | {
        "settings": config.model_dump(mode="json"), "corpus_description": source.description,
        "command": command_text("evaluate"), "machine": machine.description(),
        "threads": torch.get_num_threads(), "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - started, "training": checkpoint.digest[:8], "history": [],
    }  # fmt: skip
    write_results(folder, row_lines(rows), scores, about, {"tokenizer.json": checkpoint.tokenizer})
    write_done(folder, run_id)
    print(f"{summary_table(rows)}\nResults in {folder}", flush=True)
    return folder


def entry() -> None:
    """Run `yardstick evaluate model=...`."""
    with command_line(__doc__):
        evaluate_checkpoint(public_config(sys.argv[1:]))


if __name__ == "__main__":
    entry()
