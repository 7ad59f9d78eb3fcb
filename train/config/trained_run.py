"""Settings from a run folder, which may come from anybody: building their classes runs code."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from conf.choices import files
from conf.errors import UsageError
from data.code import targets
from train.config.run_id import model_code
from train.config.schema import Config
from train.config.validation import as_setting
from train.results.about import About, about_run
from train.results.run_folder import RUN, check_finished


def trained_run(folder: Path) -> About:
    """Return run.json of a finished run. Raise UsageError if its settings do not fit this program."""
    check_finished(folder)
    about = about_run(folder)
    check_classes(about.settings, folder / RUN)
    try:
        Config.of(about.settings)
    except UsageError as error:
        raise UsageError(f"{folder / RUN} does not fit this version: {error}") from None
    return about


def check_code(settings: Mapping[str, Any], code: Mapping[str, str], folder: Path) -> None:
    """Raise UsageError if a trained model would be evaluated by other code than it was trained with."""
    name = settings["names"]["encoding"]
    if code.get("model") != model_code(settings["encoding"]):
        raise UsageError(
            f"The code of encoding={name}, or what all models share, was edited since {folder} was trained: "
            f"undo that, or train it again, yardstick encoding={name}."
        )


def check_classes(settings: Mapping[str, object], file: str | Path) -> None:
    """Raise UsageError if settings that a file holds name a class that `conf/` does not name in its group."""
    for group, section in settings.items():
        contents = [OmegaConf.to_container(OmegaConf.load(file)) for file in files(group).values()]
        known = [name for content in contents for name in targets(content)]
        for name in targets(section):
            is_optimizer = group == "optimizer" and str(name).startswith("torch.optim.")
            if name not in known and not is_optimizer:
                raise UsageError(
                    f"{file} names {as_setting(name)} in its {group}, a class that no file of "
                    f"conf/{group} names. If it is yours, name its folder: methods=<folder>; if you do not "
                    "know it, do not use the run."
                )
