"""The settings of a run folder, with those of an evaluation in their place.

The folder may come from anybody, and building a class runs its code: `check_classes` comes before that.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from conf.choices import files, parse
from conf.errors import UsageError
from data.digest import targets
from train.config.run_id import model_code
from train.config.schema import Config
from train.config.validation import as_setting
from train.results.about import About, about_run
from train.results.run_folder import RUN, check_finished

TRAINED = ("model", "encoding", "optimizer", "data", "seed", "batch", "objective")  # decided by the training
TRAINER = ("accelerator", "devices", "num_nodes", "strategy", "precision", "threads", "accumulate", "compile")
"""What an evaluation chooses of `trainer`; the rest is as the run was trained."""
EVALUATIONS = ("evaluate", "diagnose")  # files of conf/ about a run that is trained
CHOSEN = ("run", "checkpoint", "extension", "wandb", "outputs", "callbacks", "logger")


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
    for group, section in settings.items():
        contents = [parse(file, file.stat().st_mtime_ns) for file in files(group).values()]
        known = [target for each in contents for target in targets(OmegaConf.to_container(each))]
        for target in targets(section):
            if target not in known and not (group == "optimizer" and str(target).startswith("torch.optim.")):
                raise UsageError(
                    f"{file} names {as_setting(target)} in its {group}, a class that no file of "
                    f"conf/{group} names. If it is yours, name its folder: methods=<folder>; if you do not "
                    "know it, do not use the run."
                )


def check_model(about: About, folder: Path) -> None:
    """Raise UsageError if a training left no model, or if other code would evaluate it."""
    if about.diverged is not None:
        raise UsageError(f"{folder} holds no model: {about.diverged}")
    if about.code.get("model") != model_code(about.settings["encoding"]):
        name = about.settings["names"]["encoding"]
        raise UsageError(
            f"The code of encoding={name}, or what all models share, was edited since {folder} was trained: "
            f"undo that, or train it again, yardstick encoding={name}."
        )


def check_overrides(overrides: Sequence[str]) -> None:
    """Raise UsageError if an override would change the training of the run that is evaluated."""
    for key in (word.lstrip("+~").partition("=")[0] for word in overrides):
        group, _, rest = key.partition(".")
        if group in TRAINED or (group == "trainer" and rest and rest not in TRAINER):
            raise UsageError(
                f"{key} is decided by the training of the run: leave it out, or train another run."
            )


def trained_settings(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the run folder `run`, with the chosen ones in their place; a null in
    `evaluation` keeps the run's."""
    folder = Path(str(chosen["run"]))
    about = trained_run(folder)
    check_model(about, folder)
    kept = about.settings
    trainer = kept["trainer"] | {key: chosen["trainer"][key] for key in TRAINER}
    if trainer["precision"] == "auto":
        trainer["precision"] = about.precision
    evaluation = {key: value for key, value in chosen["evaluation"].items() if value is not None}
    if "ladder" in evaluation:
        evaluation = {"lengths": "ladder"} | evaluation
    return kept | {key: chosen[key] for key in CHOSEN} | {
        "trainer": trainer, "names": kept["names"] | chosen["names"],
        "evaluation": kept["evaluation"] | evaluation,
    }  # fmt: skip
