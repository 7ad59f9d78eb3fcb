"""Settings from a run folder, which may come from anybody: building their classes runs code."""

from collections.abc import Mapping
from pathlib import Path

from omegaconf import OmegaConf

from conf.choices import files
from conf.errors import UsageError
from data.code import targets
from train.config.schema import Config
from train.config.validation import as_setting
from train.results.about import About, about_run
from train.results.done import RUN, check_finished

GROUPS = ("encoding", "extension", "data", "callbacks", "logger")


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


def check_classes(settings: Mapping[str, object], file: str | Path) -> None:
    """Raise UsageError if settings that a file holds name a class that `conf/` does not name in its group."""
    for group in GROUPS:
        contents = [OmegaConf.to_container(OmegaConf.load(file)) for file in files(group).values()]
        known = [name for content in contents for name in targets(content)]
        for name in targets(settings.get(group)):
            if name not in known:
                raise UsageError(
                    f"{file} names {as_setting(name)} in its {group}, a class that no file of "
                    f"conf/{group} names. If it is yours, name its folder: methods=<folder>; if you do not "
                    "know it, do not use the run."
                )
