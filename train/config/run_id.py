"""The ids of runs and trainings: a digest of all settings, code and files, but for what is excluded here."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import data
from conf.choices import content
from data.digest import ROOT, code_digest, foreign_code, short_digest
from train.config.schema import Config
from train.config.sections import ExtensionConfig
from train.results.run_folder import finished_id

LABELS = {"title", "family", "paper", "link"}  # of a method, in the report
NOT_IN_RUN: dict[str, Any] = {  # True: the whole section
    "outputs": True, "jobs": True, "report": True, "wandb": True, "logger": True,  # no row reads them
    "encoding": LABELS,
    "extension": LABELS,
    "trainer": {
        "accelerator", "devices", "num_nodes", "strategy", "threads", "accumulate",  # by rounding alone
        "workers", "log_every", "checkpoint_every",  # who works, what is printed, what is resumed from
    },
}  # fmt: skip
NOT_IN_TRAINING = NOT_IN_RUN | {
    "checkpoint": True, "evaluation": True, "extension": True,  # these come after the training
    "names": {"data", "extension", "model"},  # labels in the rows
    "trainer": NOT_IN_RUN["trainer"] | {"keep", "precision"},  # the resolved precision is there instead
}  # fmt: skip
BY_DIGEST = {"run": True, "data": True}  # have digests in their place
PACKAGES = ("torch", "lightning", "numpy", "tokenizers", "sympy", "networkx")
Code = dict[str, str]


def name_of(config: Config, run_id: str) -> str:
    """Return the name of a run's folder: rope-s0-1a2b3c4d, or rope+yarn-s0-1a2b3c4d under an extension."""
    extension = "" if config.names.extension == "none" else f"+{config.names.extension}"
    checkpoint = "" if config.checkpoint is None else f"@{config.checkpoint}"
    if config.run is None:
        return f"{config.names.encoding}{extension}-s{config.seed}{checkpoint}-{run_id}"
    return f"{Path(config.run).name}{extension}{checkpoint}-{run_id}"


def digests_of_code(config: Config) -> Code:
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


def run_id_of(config: Config) -> str:
    """Return the id of a run."""
    contents = {
        name: content("extension", name) for name in config.evaluation.named if name != config.names.extension
    }
    run = None if config.run is None else finished_id(Path(config.run))
    settings = config.model_dump(mode="json", exclude=NOT_IN_RUN | BY_DIGEST)
    return short_digest([settings, data_identity(config), run, contents, digests_of_code(config), packages()])


def training_id_of(config: Config, corpus: str, precision: str, code: Code) -> str:
    """Return the id of a training on data with the fingerprint `corpus`, whatever is evaluated afterwards."""
    settings = config.model_dump(mode="json", exclude=NOT_IN_TRAINING | BY_DIGEST)
    of_tests = ("name", *data.instantiate(config.named_data).of_tests)
    trained_on = {key: value for key, value in data_identity(config).items() if key not in of_tests}
    relevant = {key: code[key] for key in ("model", "data", "training")}
    return short_digest([settings, trained_on, corpus, precision, relevant, packages()])


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


def is_in_run(key: str) -> bool:
    """Return whether a setting, such as trainer.max_steps, is in the id of a run."""
    group, _, name = key.partition(".")
    excluded = NOT_IN_RUN.get(group, ())
    return excluded is not True and name not in excluded


def data_identity(config: Config) -> dict[str, Any]:
    """Return the settings of the data, with digests in place of the files that they name."""
    try:
        return data.identity(config.named_data)
    except Exception:  # the check before the run names the setting that is wrong
        return config.data


def packages(*more: str) -> str:
    """Return the versions of the packages that determine results, in one line."""
    return ", ".join(f"{name} {version(name)}" for name in (*PACKAGES, *more))
