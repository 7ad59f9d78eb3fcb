"""The ids of runs and trainings: eight hex digits, a digest of everything that determines a result."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf

import data
from conf.choices import files
from data.code import code_digest, digest, modules
from train.config.schema import Config
from train.config.sections import ExtensionConfig
from train.paths import ROOT
from train.results.done import finished_id

LABELS: dict[str, Any] = {"encoding": {"family"}}
NOT_RESULT = LABELS | {
    "outputs": True, "jobs": True, "wandb": True, "report": True,
    "trainer": {"devices", "num_nodes", "strategy", "threads", "log_every", "checkpoint_every"},
}  # fmt: skip
MODEL = ("models.gpt", "models.registry")
TRAINING = tuple(f"train.fit.{name}" for name in "loss module muon objective optimizer recipe".split())
EVALUATION = (
    "train.results.protocols",
    *(f"train.evaluation.{f.stem}" for f in sorted((ROOT / "train/evaluation").glob("*.py"))),
)
PACKAGES = ("torch", "lightning", "numpy", "tokenizers", "sympy", "networkx")
Code = dict[str, str]


def name(config: Config) -> str:
    """Return the name of a run's folder: rope-s0-1a2b3c4d, rope-s0-1a2b3c4d@0.25-5e6f7a8b."""
    training = f"{config.names.encoding}-s{config.seed}" if config.run is None else Path(config.run).name
    return f"{training}{'' if config.checkpoint is None else f'@{config.checkpoint}'}-{run_id_of(config)}"


def code(config: Config) -> Code:
    """Return a digest of the code of each part of a run, as it is on the disk now."""
    contents = [extension_content(name) for name in config.evaluation.named]
    return {
        "model": model_code(config.encoding.parameters),
        "data": code_digest(modules(config.data)),
        "training": code_digest(TRAINING),
        "evaluation": code_digest([*EVALUATION, *modules([config.extension.parameters, contents])]),
    }


def model_code(encoding: Mapping[str, Any]) -> str:
    """Return a digest of the code of all models and of the encoding with these settings."""
    return code_digest([*MODEL, *modules(encoding)])


def run_id_of(config: Config, digests: Code | None = None) -> str:
    """Return the id of a run: a digest of all settings, files and code that determine its result. `digests`
    spare computing those of the code again."""
    digests = digests or code(config)
    settings = config.model_dump(mode="json", exclude=NOT_RESULT) | {"data": data_identity(config)}
    if config.run is not None:
        settings["run"] = finished_id(Path(config.run))
    contents = {
        name: extension_content(name) for name in config.evaluation.named if name != config.names.extension
    }
    return digest([settings, contents, digests, packages()])


def data_identity(config: Config) -> dict[str, Any]:
    """Return the settings of the data, with digests in place of the files that they name."""
    try:
        return data.identity(config.named_data)
    except Exception:  # the check before the run names the setting that is wrong
        return config.data


def training_id_of(config: Config, corpus: str, precision: str, code: Code) -> str:
    """Return the id of a training on data with the fingerprint `corpus`, whatever is evaluated afterwards."""
    parts = {"model", "encoding", "optimizer", "seed", "batch", "objective"}
    settings = config.model_dump(mode="json", include=parts, exclude=LABELS)
    trainer = config.trainer.max_steps, config.trainer.compile, precision
    relevant = {key: code[key] for key in ("model", "data", "training")}
    return digest([settings, config.names.encoding, trainer, corpus, relevant, packages()])


def finetuning_id_of(training_id: str, name: str, extension: ExtensionConfig) -> str:
    """Return the id of a training that continues another one under an extension."""
    settings = extension.model_dump(mode="json")
    return digest([training_id, name, settings, code_digest(modules(settings))])


def extension_content(name: str) -> dict[str, Any]:
    """Return the content of `conf/extension/<name>.yaml`."""
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(files("extension")[name])))


def packages() -> str:
    """Return the versions of the packages that determine results, in one line."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)
