"""Hydra's configuration becomes a `Config`. Nothing here imports torch, which the parent of a sweep does not
need."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from conf.choices import files, method_folders
from conf.errors import UsageError
from data.code import targets
from train.config.overrides import check_overrides
from train.config.run_id import model_code, name
from train.config.schema import Config
from train.config.trained_run import trained_run
from train.config.validation import check_value
from train.paths import CONF, ROOT, SWEEPS

OWN = ("accelerator", "devices", "num_nodes", "strategy", "precision", "threads", "accumulate", "compile")
"""What an evaluation chooses of `trainer`; the rest is as the run was trained."""


@cache
def register() -> None:
    """Register the files of `sweeps/`, those of methods, `${project_root:}` and `${name:}` with Hydra."""
    # not by Hydra's search path, on which the other folders of the root would be groups
    store = ConfigStore.instance().store
    for file in sorted(SWEEPS.glob("*.yaml")):
        store(file.stem, OmegaConf.load(file), group="sweeps", package="_global_")
    for folder in method_folders():
        for file in sorted(folder.glob("*/*.yaml")):
            store(file.stem, OmegaConf.load(file), group=file.parent.name)
    OmegaConf.register_new_resolver("project_root", lambda: str(ROOT), replace=True)
    OmegaConf.register_new_resolver("name", lambda _root_: name(config_of(_root_)), replace=True)


def compose_config(*overrides: str, name: str = "config") -> Config:
    """Return the settings of `python -m train` with these overrides, or of `conf/<name>.yaml`."""
    register()
    check_overrides(overrides)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return config_of(compose(name, with_flags(overrides), return_hydra_config=True))


def with_flags(overrides: Sequence[str]) -> list[str]:
    """Return the overrides, in which any flag of Lightning's Trainer is a setting."""
    return [f"++{item}" if item.startswith("trainer.") else item for item in overrides]


def config_of(root: DictConfig) -> Config:
    """Return the settings as a `Config`. Raise UsageError, with the name of the setting, if one makes no
    sense."""
    return validate(plain_settings(root))


def validate(settings: dict[str, Any]) -> Config:
    """Return the settings of a run, or the choices for the evaluation of a trained one."""
    if "run" in settings:
        check_value("run", settings["run"], str)
        settings = trained_settings(settings)
    config = Config.of(settings)
    check_names(config)
    return config


def check_names(config: Config) -> None:
    """Raise UsageError if a class on the command line would give its results the name of another method."""
    settings = config.model_dump(include={"encoding", "extension", "data"})
    for group, content in settings.items():
        name = getattr(config.names, group)
        file, target = files(group).get(name), content.get("_target_")
        if file is None:
            continue
        named = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(file)))
        if group == "data":  # a file may leave the parts of its data to other files
            different = target != named.get("data", named).get("_target_")
        else:
            different = bool({*map(str, targets(content))} - {*targets(named)})
        if different:
            raise UsageError(
                f"{group}._target_={target} is not what conf/{group}/{name}.yaml names, so its results need "
                f"another name: add names.{group}=my_{group}."
            )


def plain_settings(root: DictConfig) -> dict[str, Any]:
    """Return the settings without Hydra's own."""
    params = OmegaConf.masked_copy(root, [str(key) for key in root if key != "hydra"])
    choices = OmegaConf.select(root, "hydra.runtime.choices")
    if choices is not None and isinstance(root.names, DictConfig):
        for key in [key for key in map(str, root.names) if OmegaConf.is_interpolation(root.names, key)]:
            params.names[key] = choices.get(key)
    return cast(dict[str, Any], OmegaConf.to_container(params, resolve=True, throw_on_missing=True))


def dotted(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the values of arguments such as run=here threads=2."""
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.from_dotlist(list(arguments))))


def trained_settings(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the run folder `run`, with the chosen ones in their place; a null in
    `evaluation` keeps the run's."""
    folder = Path(chosen["run"])
    check_value("names", chosen["names"], dict)
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


def check_code(settings: Mapping[str, Any], code: Mapping[str, str], folder: Path) -> None:
    """Raise UsageError if a trained model would be evaluated by other code than it was trained with."""
    name = settings["names"]["encoding"]
    if code.get("model") != model_code(settings["encoding"]):
        raise UsageError(
            f"The code of encoding={name}, or what all models share, was edited since {folder} was trained: "
            f"undo that, or train it again, python -m train encoding={name}."
        )


def sweep_settings(*overrides: str) -> tuple[Config, list[str]]:
    """Return the settings of the first job of a sweep, and the encodings of all its jobs."""
    register()
    check_overrides(overrides, is_multirun=True)
    chosen = [item for item in overrides if item.startswith("sweeps=")]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        params = compose("config", chosen, return_hydra_config=True).hydra.sweeper.params or {}
        parser = OverridesParser.create(GlobalHydra.instance().config_loader())
        varied = parser.parse_overrides([*(f"{key}={value}" for key, value in params.items()), *overrides])
        (jobs,) = BasicSweeper.split_arguments(varied, None)
    settings = [dict(item.partition("=")[::2] for item in job) for job in jobs]
    first = compose_config(*jobs[0])
    return first, [item.get("encoding", first.names.encoding) for item in settings]
