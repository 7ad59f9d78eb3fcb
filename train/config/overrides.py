"""Overrides of a command line, checked before Hydra composes settings from them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, Override, QuotedString, Sweep
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from conf.choices import files
from conf.errors import UsageError
from train.config.validation import did_you_mean
from train.paths import CONF, SWEEPS

NAME = re.compile(r"[\w+.-]*\w")  # of a file of a group: no way out of its folder
FOLDERS = ("outputs", "hydra.run.dir", "hydra.sweep.dir")
HINTS = {  # what other projects call it
    "ckpt_path": "The same command goes on where it stopped; yardstick evaluate run=... evaluates again.",
    "hparams_search": "A search is a sweep: -m optimizer.learning_rate=1e-3,3e-3",
    "tags": "These are wandb.tags.",
}
FREE = (
    "encoding",
    "extension",
    "data",
    "optimizer",
    "trainer",
    "callbacks",
    "logger",
)  # their classes may have parameters that no file has


def check_overrides(arguments: Iterable[str], is_multirun: bool = False) -> None:
    """Raise UsageError at the first argument that Hydra would refuse, in terms of settings."""
    overrides = [parse_override(argument) for argument in arguments]
    for override in overrides:
        key = override.key_or_group
        if key in FOLDERS and override.value() in ("", None):
            raise UsageError(f"{key}= names no folder: give one, or leave it out.")
        if key in group_names():
            check_choice(override)
        elif not is_setting(key):
            hint = did_you_mean(key, settings()), HINTS.get(key.partition(".")[0], "")
            raise UsageError(f"There is no setting '{key}'.{' '.join(hint)}".rstrip())
    if is_multirun or any(is_multirun_choice(override) for override in overrides):
        return
    for override in overrides:
        line = override.input_line
        if override.is_sweep_override():
            raise UsageError(
                f"{line} are several values: choose one, or add hydra.mode=MULTIRUN to run each."
            )
        if override.key_or_group == "hydra/launcher":
            raise UsageError(f"{line} starts the jobs of a sweep: add hydra.mode=MULTIRUN.")


def parse_override(argument: str) -> Override:
    """Return an argument as Hydra's grammar reads it."""
    with suppress(HydraException):
        override: Override = OverridesParser.create().parse_override(argument)
        if override.key_or_group:
            return override
    if argument.count("[") > argument.count("]") or argument.count("{") > argument.count("}"):
        raise UsageError(f"{argument} has a bracket that is not closed.")
    raise UsageError(f"{argument} should be a setting such as key=value, with quotes in \"key='any sign'\".")


def check_choice(override: Override) -> None:
    """Raise UsageError if a choice is not a file of its group, or matches none."""
    group, value = override.key_or_group, override.value()
    names = choices_of(group)
    choices = f"There are: {', '.join(names)}."
    if isinstance(value, Glob) and not value.filter(names):
        raise UsageError(f"{override.input_line} matches nothing. {choices}")
    for choice in value.list if isinstance(value, ChoiceSweep) else [value]:
        if isinstance(choice, Glob) and choice is not value:
            raise UsageError(f"{override.input_line} has glob(...) in a list: write {group}='glob([a*,b])'.")
        name = choice.text if isinstance(choice, QuotedString) else choice
        if isinstance(choice, Sweep | Glob) or name in names:
            continue
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise UsageError(f"{override.input_line} should be the name of a file of conf/{group}. {choices}")
        noun = group.removesuffix("s")
        raise UsageError(f"There is no {noun} '{name}'.{did_you_mean(name, names)} {choices}")


def is_setting(key: str) -> bool:
    """Return whether a key is one of Hydra's, may be a parameter of a class, or is in a file of conf/."""
    group, *rest = key.split(".")
    is_free = bool(rest) and group in ("hydra", *FREE)
    return is_free or any(f"{name}.".startswith(f"{key}.") for name in settings() if group != "hydra")


def is_multirun_choice(override: Override) -> bool:
    """Return whether an override makes a command a sweep: the mode, or a file of sweeps/ that sets it."""
    if override.key_or_group == "sweeps":
        return "mode: MULTIRUN" in (SWEEPS / f"{override.value()}.yaml").read_text()
    return override.key_or_group == "hydra.mode" and override.value() == "MULTIRUN"


def group_names() -> list[str]:
    """Return the names of all groups, of which an override chooses a file."""
    folders = [folder.name for folder in CONF.iterdir() if any(folder.glob("*.yaml"))]
    return [*folders, "sweeps", "hydra/launcher"]


def choices_of(group: str) -> list[str]:
    """Return the names of the files of a group."""
    if group == "sweeps":
        return sorted(file.stem for file in SWEEPS.glob("*.yaml"))
    return sorted([*files(group), *(["basic"] if group == "hydra/launcher" else [])])  # Hydra's own


@cache
def settings() -> list[str]:
    """Return the groups of `conf/`, and the dotted names of all settings in its files."""
    keys = group_names()
    for file in sorted(CONF.rglob("*.yaml")):
        is_whole = file.parent == CONF or file.read_text().startswith("# @package _global_")
        group = ".".join(part for part in file.parent.relative_to(CONF).parts if part != "base")
        keys += leaves(OmegaConf.load(file), "" if is_whole else f"{group}.")
    return [key for key in keys if not re.match(r"defaults|hydra\.(?!launcher)", key)]


def leaves(node: Any, prefix: str = "") -> Iterator[str]:
    """Yield every setting by its dotted name."""
    for key in node:
        child = node._get_node(key)
        if isinstance(child, DictConfig) and child:
            yield from leaves(child, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
