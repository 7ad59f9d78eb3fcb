"""A command line becomes Hydra's configuration, and that a `Config`. Nothing here imports torch, which the
parent of a sweep does not need."""

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

import data
from conf.choices import content, files, method_folders, use_methods
from conf.errors import UsageError
from train.config.schema import Config
from train.config.trained_run import EVALUATIONS, check_overrides, trained_settings
from train.paths import CONF, ROOT, SWEEPS


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


@contextmanager
def open_hydra(arguments: Sequence[str], name: str) -> Iterator[tuple[Hydra, Namespace]]:
    """Yield Hydra on `conf/` and the folders that a command line names, with its options and overrides.

    What only shows something, such as --cfg or --help, ends the process.
    """
    options = options_of(arguments)
    overrides = options.overrides
    if name in EVALUATIONS:
        check_overrides(overrides)
    register()
    with initialize_config_dir(str(CONF), job_name=name, version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        if options.help:
            hydra.app_help(name, get_args_parser(), options)
        elif options.hydra_help:
            hydra.hydra_help(name, get_args_parser(), options)
        elif options.shell_completion:
            hydra.shell_completion(name, overrides)
        elif options.cfg:
            hydra.show_cfg(name, overrides, options.cfg, options.package, options.resolve)
        elif options.info:
            hydra.show_info(options.info, name, overrides)
        else:
            yield hydra, options
            return
    raise SystemExit(0)


def compose_root(overrides: Sequence[str], name: str = "config") -> DictConfig:
    """Return what Hydra composes of `conf/<name>.yaml` with these overrides, and its own settings."""
    register()
    if name in EVALUATIONS:
        check_overrides(overrides)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(name, list(overrides), return_hydra_config=True)


def compose_config(*overrides: str, name: str = "config") -> Config:
    """Return the settings of `yardstick train` with these overrides, or of `conf/<name>.yaml`."""
    return config_of(compose_root(overrides, name))


def config_of(root: DictConfig) -> Config:
    """Return the settings as a `Config`. Raise UsageError, with the name of the setting, if one makes no
    sense."""
    settings = resolved_settings(root)
    if "run" in settings:
        return Config.of(trained_settings(settings))
    if settings["model"]["vocab"] == "auto":
        named = settings["data"] | {"name": settings["names"]["data"]}
        settings["model"]["vocab"] = vocabulary_of(named)
    return Config.of(settings)


def vocabulary_of(settings: Mapping[str, object]) -> int:
    """Return the number of token ids of data. Raise UsageError, with the name of the setting, if one is of a
    wrong kind."""
    try:
        return data.vocabulary(settings)
    except UsageError:
        raise
    except Exception:
        from train.checks.parameters import check  # torch, in this case alone

        check("data", settings, data.Data)
        raise


def resolved_settings(root: DictConfig) -> dict[str, Any]:
    """Return what Hydra composed without its own settings, with the names of the chosen files. Raise
    UsageError if results would have the name of another method."""
    if "hydra" in root:
        HydraConfig.instance().set_config(root)
    plain = OmegaConf.masked_copy(root, [str(key) for key in root if key != "hydra"])
    settings = cast(dict[str, Any], OmegaConf.to_container(plain, resolve=True, throw_on_missing=True))
    for group, given in settings["names"].items():
        chosen = HydraConfig.get().runtime.choices.get(group)
        name = settings["names"][group] = chosen if given is None else given
        target = class_in(group, settings)
        if (
            isinstance(name, str)
            and name in files(group)
            and (name != chosen or target != class_in(group, content(group, name)))
        ):
            raise UsageError(
                f"{group}._target_={target} is not what conf/{group}/{name}.yaml names, so its results need "
                f"another name: add names.{group}=my_{group}."
            )
    return settings


def class_in(group: str, settings: Mapping[str, object]) -> object:
    """Return the class of a group in all settings, or in those of the group alone."""
    section = settings.get(group, settings)
    return section.get("_target_") if isinstance(section, Mapping) else None


def options_of(arguments: Sequence[str]) -> Namespace:
    """Return Hydra's options and `overrides` of a command line. Use the folder that --config-dir names."""
    options = get_args_parser().parse_intermixed_args(list(arguments))
    if options.config_dir:
        use_methods(Path(options.config_dir))
    return options


def dotted(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the values of arguments such as run=here threads=2."""
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.from_dotlist(list(arguments))))


def sweep_settings(*overrides: str) -> tuple[Config, list[str]]:
    """Return the settings of the first job of a sweep, and the encodings of all its jobs."""
    root = compose_root([item for item in overrides if item.startswith("sweeps=")])
    parameters = [f"{key}={value}" for key, value in (root.hydra.sweeper.params or {}).items()]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        parser = OverridesParser.create(GlobalHydra.instance().config_loader())
        (jobs,) = BasicSweeper.split_arguments(parser.parse_overrides([*parameters, *overrides]), None)
    settings = [dict(item.partition("=")[::2] for item in job) for job in jobs]
    first = compose_config(*jobs[0])
    return first, [item.get("encoding", first.names.encoding) for item in settings]


def quoted(path: str | Path) -> str:
    """Return a path in the syntax of Hydra's overrides."""
    return "'" + str(path).replace("\\", "\\\\").replace("'", "\\'") + "'"
