"""The ids of runs and trainings: a digest of all settings, code and files, but for what is excluded here."""

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import data
from conf.choices import content
from data.code import ROOT, code_digest, foreign_code, short_digest
from train.config.schema import Config
from train.config.sections import ExtensionConfig
from train.results.run_folder import finished_id

ROUNDING = "it changes results by rounding alone"
NOT_IN_RUN = {
    "outputs": "where results are kept",
    "jobs": "how many runs share the machine",
    "report": "it is made from the rows",
    "wandb": "a view of the run",
    "logger": "a view of the training",
    "encoding.title": "a label in the report",
    "encoding.family": "a label in the report",
    "encoding.paper": "a label in the report",
    "encoding.link": "a label in the report",
    "extension.paper": "a label in the report",
    "extension.link": "a label in the report",
    "trainer.accelerator": ROUNDING,
    "trainer.devices": ROUNDING,
    "trainer.num_nodes": ROUNDING,
    "trainer.strategy": ROUNDING,
    "trainer.threads": ROUNDING,
    "trainer.accumulate": ROUNDING,
    "trainer.workers": "who makes the batches, which are the same",
    "trainer.log_every": "what is printed",
    "trainer.checkpoint_every": "a training that resumes is the same",
}
NOT_IN_TRAINING = NOT_IN_RUN | {
    "run": "a run folder that is evaluated",
    "checkpoint": "which of the weights are evaluated",
    "evaluation": "it comes after the training",
    "extension": "it comes after the training; a fine-tuning has an id of its own",
    "names.data": "a label in the rows; the digest of the corpus is in the id",
    "data.name": "a label in the rows",
    "names.extension": "a label in the rows",
    "names.model": "a label in the rows",
    "trainer.keep": "which weights stay on the disk",
    "trainer.precision": "the precision that it means here is in the id",
}
PACKAGES = ("torch", "lightning", "numpy", "tokenizers", "sympy", "networkx")
Code = dict[str, str]


def name_of(config: Config, run_id: str | None = None) -> str:
    """Return the name of a run's folder: rope-s0-1a2b3c4d, or rope+yarn-s0-1a2b3c4d under an extension."""
    run_id = run_id or run_id_of(config)
    extension = "" if config.names.extension == "none" else f"+{config.names.extension}"
    checkpoint = "" if config.checkpoint is None else f"@{config.checkpoint}"
    if config.run is None:
        return f"{config.names.encoding}{extension}-s{config.seed}{checkpoint}-{run_id}"
    return f"{Path(config.run).name}{extension}{checkpoint}-{run_id}"


def code(config: Config) -> Code:
    """Return a digest of the code of each part of a run, as it is on the disk now."""
    contents = [content("extension", name) for name in config.evaluation.named]
    return {
        "model": model_code(config.encoding.parameters),
        "data": code_digest(ROOT / "data", *foreign_code(config.data)),
        "training": code_digest(
            ROOT / "train/fit", ROOT / "train/build.py", ROOT / "train/context.py",
            *foreign_code([config.optimizer.parameters, config.trainer.model_dump(), config.callbacks]),
        ),
        "evaluation": code_digest(
            ROOT / "train/evaluation", ROOT / "train/results/protocols.py",
            *foreign_code([config.extension.parameters, contents]),
        ),
    }  # fmt: skip


def model_code(encoding: object) -> str:
    """Return a digest of the code of all models and of the encoding with these settings."""
    return code_digest(ROOT / "models", *foreign_code(encoding))


def run_id_of(config: Config, digests: Code | None = None) -> str:
    """Return the id of a run. `digests` spare computing those of the code again."""
    contents = {
        name: content("extension", name) for name in config.evaluation.named if name != config.names.extension
    }
    run = None if config.run is None else finished_id(Path(config.run))
    return short_digest(
        [settings_without(config, NOT_IN_RUN), run, contents, digests or code(config), packages()]
    )


def training_id_of(config: Config, corpus: str, precision: str, code: Code) -> str:
    """Return the id of a training on data with the fingerprint `corpus`, whatever is evaluated afterwards."""
    relevant = {key: code[key] for key in ("model", "data", "training")}
    of_tests = [f"data.{key}" for key in data.instantiate(config.named_data).of_tests]
    settings = settings_without(config, [*NOT_IN_TRAINING, *of_tests])
    return short_digest([settings, corpus, precision, relevant, packages()])


def finetuning_keys(training_id: str, extensions: Mapping[str, ExtensionConfig]) -> dict[str, str]:
    """Return a digest of all that determines a training under each extension, with its code as it is on the
    disk now, but for the weights that it continues.

    `training_id` is that of the training that these settings describe, with precision and code; where the
    weights come from is not asked.
    """
    every = {name: extension.model_dump(mode="json") for name, extension in extensions.items()}
    return {
        name: short_digest([training_id, name, settings, code_digest(*foreign_code(settings))])
        for name, settings in every.items()
    }


def finetuning_id_of(key: str, weights: str) -> str:
    """Return the id of a training with one of `finetuning_keys` that continues weights with this digest."""
    return short_digest([key, weights])


def settings_without(config: Config, excluded: Iterable[str]) -> dict[str, Any]:
    """Return the settings but for the excluded ones, with digests in place of the files of the data."""
    settings = config.model_dump(mode="json") | {"data": data_identity(config)}
    settings.pop("run")  # the id of that run stands for its folder
    for key in excluded:
        *path, last = key.split(".")
        section = settings
        for part in path:
            section = section[part]
        section.pop(last, None)
    return settings


def data_identity(config: Config) -> dict[str, Any]:
    """Return the settings of the data, with digests in place of the files that they name."""
    try:
        return data.identity(config.named_data)
    except Exception:  # the check before the run names the setting that is wrong
        return config.data


def packages(*more: str) -> str:
    """Return the versions of the packages that determine results, in one line."""
    return ", ".join(f"{name} {version(name)}" for name in (*PACKAGES, *more))
