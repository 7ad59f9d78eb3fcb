"""Hydra's configuration becomes a `Config`. Nothing here imports torch, which the parent of a sweep does not
need."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

import data
from conf.choices import files, method_folders
from conf.errors import UsageError
from train.config.schema import Config
from train.config.sections import TrainerConfig
from train.config.trained_run import check_code, trained_run
from train.config.validation import check_value
from train.paths import CONF, ROOT, SWEEPS

OWN = ("accelerator", "devices", "num_nodes", "strategy", "precision", "threads", "accumulate", "compile")
"""What an evaluation chooses of `trainer`; the rest is as the run was trained."""
TRAINED = ("model", "encoding", "optimizer", "data", "seed", "batch", "objective")  # decided by the training


class MethodFolders(SearchPathPlugin):
    """Have Hydra look in the folders of methods as well, also for `glob(*)`."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for folder in method_folders():
            search_path.append("methods", f"file://{folder}")


@cache
def register() -> None:
    """Register the files of `sweeps/`, `${project_root:}` and the folders of methods with Hydra."""
    # not by Hydra's search path, on which the other folders of the root would be groups
    for file in sorted(SWEEPS.glob("*.yaml")):
        ConfigStore.instance().store(file.stem, OmegaConf.load(file), group="sweeps", package="_global_")
    OmegaConf.register_new_resolver("project_root", lambda: str(ROOT), replace=True)
    Plugins.instance().register(MethodFolders)


def compose_config(*overrides: str, name: str = "config") -> Config:
    """Return the settings of `yardstick train` with these overrides, or of `conf/<name>.yaml`."""
    register()
    check_overrides(overrides, name)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        root = compose(name, with_flags(overrides), return_hydra_config=True)
        return config_of(root)


def with_flags(overrides: Sequence[str]) -> list[str]:
    """Return the overrides, in which any flag of Lightning's Trainer is a setting of `trainer`."""
    known = tuple(f"trainer.{name}=" for name in TrainerConfig.model_fields)
    return [
        f"++{item}" if item.startswith("trainer.") and not item.startswith(known) else item
        for item in overrides
    ]


def config_of(root: DictConfig) -> Config:
    """Return the settings as a `Config`. Raise UsageError, with the name of the setting, if one makes no
    sense."""
    settings = resolved_settings(root)
    if "run" in settings:
        return Config.of(trained_settings(settings))
    if OmegaConf.select(root, "model.vocab") == "auto":
        named = settings["data"] | {"name": settings["names"]["data"]}
        settings["model"]["vocab"] = data.vocabulary(named)
    return Config.of(settings)


def resolved_settings(root: DictConfig) -> dict[str, Any]:
    """Return what Hydra composed without its own settings, with the names of the chosen files."""
    if "hydra" in root:
        HydraConfig.instance().set_config(root)
    hydra = HydraConfig.get()
    plain = OmegaConf.masked_copy(root, [str(key) for key in root if key != "hydra"])
    settings = cast(dict[str, Any], OmegaConf.to_container(plain, resolve=True, throw_on_missing=True))
    check_value("names", settings["names"], dict)
    names, chosen = settings["names"], hydra.runtime.choices
    for group, name in names.items():
        if name in files(group) and name != chosen.get(group):
            raise UsageError(
                f"names.{group}={name} is not what conf/{group}/{name}.yaml names: choose another name."
            )
    settings["names"] = {key: chosen.get(key) if value is None else value for key, value in names.items()}
    check_names(settings, list(hydra.overrides.task))
    return settings


def check_names(settings: dict[str, Any], overrides: Sequence[str]) -> None:
    """Raise UsageError if a class on the command line would give its results the name of another method."""
    keys = {word.lstrip("+").partition("=")[0] for word in overrides}
    for group in settings["names"]:
        if f"{group}._target_" in keys and f"names.{group}" not in keys:
            raise UsageError(
                f"{group}._target_={settings[group]['_target_']} is not what conf/{group}/"
                f"{settings['names'][group]}.yaml names, so its results need another name: add "
                f"names.{group}=my_{group}."
            )


def check_overrides(overrides: Sequence[str], name: str) -> None:
    """Raise UsageError if an override would change the training of the run that is evaluated."""
    if name not in ("evaluate", "diagnose"):
        return
    for key in (word.lstrip("+~").partition("=")[0] for word in overrides):
        group, _, rest = key.partition(".")
        if group in TRAINED or (group == "trainer" and rest and rest not in OWN):
            raise UsageError(
                f"{key} is decided by the training of the run: leave it out, or train another run."
            )


def trained_settings(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the run folder `run`, with the chosen ones in their place; a null in
    `evaluation` keeps the run's."""
    check_value("run", chosen["run"], str)
    folder = Path(chosen["run"])
    about = trained_run(folder)
    kept = about.settings
    check_code(kept, about.code, folder)
    trainer = kept["trainer"] | {key: chosen["trainer"][key] for key in OWN}
    if trainer["precision"] == "auto":
        trainer["precision"] = about.precision
    evaluation = {key: value for key, value in chosen["evaluation"].items() if value is not None}
    if "ladder" in evaluation:
        evaluation = {"lengths": "ladder"} | evaluation
    own = ("run", "checkpoint", "extension", "wandb", "outputs", "callbacks", "logger")
    return kept | {key: chosen[key] for key in own} | {
        "trainer": trainer, "names": kept["names"] | chosen["names"],
        "evaluation": kept["evaluation"] | evaluation,
    }  # fmt: skip


def known_settings() -> list[str]:
    """Return the groups of `conf/` and the dotted names of the default settings."""
    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        settings = [name for file in ("config", "diagnose") for name in leaves(compose(file))]
    return [*(folder.name for folder in CONF.iterdir() if folder.is_dir()), "sweeps", *settings]


def leaves(node: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all settings."""
    for key in map(str, node):
        yield prefix + key
        child = node._get_node(key)
        if isinstance(child, DictConfig):
            yield from leaves(child, f"{prefix}{key}.")


def dotted(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the values of arguments such as run=here threads=2."""
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.from_dotlist(list(arguments))))


def sweep_settings(*overrides: str) -> tuple[Config, list[str]]:
    """Return the settings of the first job of a sweep, and the encodings of all its jobs."""
    register()
    chosen = [item for item in overrides if item.startswith("sweeps=")]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        root = compose("config", chosen, return_hydra_config=True)
        parameters = [f"{key}={value}" for key, value in (root.hydra.sweeper.params or {}).items()]
        parser = OverridesParser.create(GlobalHydra.instance().config_loader())
        (jobs,) = BasicSweeper.split_arguments(parser.parse_overrides([*parameters, *overrides]), None)
    settings = [dict(item.partition("=")[::2] for item in job) for job in jobs]
    first = compose_config(*jobs[0])
    return first, [item.get("encoding", first.names.encoding) for item in settings]
