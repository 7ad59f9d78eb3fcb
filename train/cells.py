"""Cells: eight hex digits that name a result, a hash of everything that determines it."""

from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

from train.config import Config
from train.fingerprints import digest, unverified, unverified_extensions
from train.sections import ExtensionConfig
from train.versions import EVALUATION, TRAINING, packages

LABELS: dict[str, Any] = {"encoding": {"family"}}
NOT_RESULT = LABELS | {
    "outputs": True, "jobs": True, "wandb": True, "report": True,
    "trainer": {"devices", "num_nodes", "strategy", "threads", "log_every", "checkpoint_every"},
}  # fmt: skip


def name(config: Config) -> str:
    """Of the folder of a run: rope-s0-1a2b3c4d, rope-s0-1a2b3c4d@0.25-5e6f7a8b."""
    training = f"{config.names.encoding}-s{config.seed}" if config.run is None else Path(config.run).name
    return f"{training}{'' if config.checkpoint is None else f'@{config.checkpoint}'}-{cell(config)}"


def cell(config: Config) -> str:
    """Of a run: of its training and its evaluation."""
    settings = config.model_dump(mode="json", exclude=NOT_RESULT)
    files = [stamps(path) for path in paths(config.data)]
    listed = (name for name in config.evaluation.named if name != config.names.extension)
    code = trained_code(config) | unverified(config.extension.parameters) | unverified_extensions(listed)
    return digest([settings, files, TRAINING, EVALUATION, packages(), *filter(None, [code])])


def training_cell(config: Config, corpus: str, precision: str) -> str:
    """Of a training, whatever is evaluated afterwards."""
    parts = {"model", "encoding", "data", "optimizer", "seed", "batch", "objective"}
    settings = config.model_dump(mode="json", include=parts, exclude=LABELS)
    trainer = config.trainer.max_steps, config.trainer.compile, precision
    names, code = [config.names.encoding, trainer, corpus], trained_code(config)
    return digest([settings, *names, TRAINING, packages(), *filter(None, [code])])


def finetuned_cell(training: str, name: str, extension: ExtensionConfig) -> str:
    """Of a training that continues another one under an extension."""
    settings = extension.model_dump(mode="json")
    return digest([training, name, settings, *filter(None, [unverified(settings)])])


def trained_code(config: Config) -> dict[str, str]:
    """What a training depends on of the code of its encoding and data, if it is not verified."""
    return unverified([config.encoding.parameters, config.data])


def paths(settings: Any) -> Iterator[str]:
    """The files that data are read from, those of the parts of a mixture too."""
    if isinstance(settings, dict):
        if settings.get("path"):
            yield settings["path"]
        for part in settings.values():
            yield from paths(part)


def stamps(path: str) -> list[tuple[str, int, int]]:
    """Name, size and time of the user's own text, so that a run on changed text is another run."""
    paths = sorted(Path(name) for name in glob(path, recursive=True))
    files = [file for top in paths for file in (sorted(top.rglob("*")) if top.is_dir() else [top])]
    return [(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.is_file()]
