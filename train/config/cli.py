"""Command lines that read a file of `conf/`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, open_dict, read_write

from conf.choices import use_methods
from conf.errors import UsageError
from data.code import digest
from train.config.compose import OWN, register, with_flags
from train.config.overrides import check_overrides
from train.config.schema import Config
from train.config.validation import as_setting
from train.paths import CONF

FULL_ERROR = "HYDRA_FULL_ERROR"
NAMING = {"sweeps", "hydra.sweep.dir"}  # of a sweep's folder
TRAINED = ("model", "encoding", "optimizer", "data", "seed", "batch", "objective")  # decided by the training


class JobCollector(Callback):
    """Let Hydra compose the jobs of a sweep one after the other; `train.launch` runs them afterwards."""

    def on_multirun_start(self, config: DictConfig, **more: Any) -> None:
        with read_write(config.hydra), open_dict(config.hydra):
            config.hydra.launcher = {"_target_": "hydra._internal.core_plugins.basic_launcher.BasicLauncher"}


def run_command(name: str, main: Callable[[DictConfig], None]) -> None:
    """Call `main` with `conf/<name>.yaml` and the overrides of the command line, once for each job of a
    sweep. Raise its first error after all jobs."""
    check_dashes(sys.argv[1:])
    sys.argv[1:] = with_flags(sys.argv[1:])
    options = get_args_parser().parse_args()
    if options.config_dir:
        use_methods(Path(options.config_dir))
    register()
    keys = [item.lstrip("+~").partition("=")[0] for item in options.overrides]
    if name != "config":
        check_evaluation(keys)
    if not options.shell_completion:
        check_overrides(options.overrides, options.multirun)
        if (options.multirun or "hydra.mode=MULTIRUN" in options.overrides) and not NAMING & {*keys}:
            sys.argv.append(
                f"hydra.sweep.dir=${{outputs}}/sweeps/multirun-{digest(sorted(options.overrides))}"
            )
    errors: list[Exception] = []
    asked = os.environ.get(FULL_ERROR, "0")
    os.environ[FULL_ERROR] = "1"  # else Hydra prints errors in its own way

    def caught(config: DictConfig) -> None:
        os.environ[FULL_ERROR] = asked
        try:
            main(config)
        except Exception as error:
            errors.append(error)

    try:
        hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(caught)()
    finally:
        os.environ[FULL_ERROR] = asked
    if errors:
        raise errors[0]


def function(key: str, path: Any) -> Callable[..., Any]:
    """Return the function at the dotted path in a setting."""
    try:
        found = resolve_name(str(path))
    except (ImportError, AttributeError, ValueError):
        found = None
    if not callable(found):
        raise UsageError(f"{key}={as_setting(path)} should be the dotted path of a function.")
    return found


def check_dashes(arguments: list[str]) -> None:
    """Raise UsageError if a setting is written with dashes, which only Hydra's own options have."""
    for argument in arguments:
        key = argument.removeprefix("--").partition("=")[0]
        if argument.startswith("--") and key.partition(".")[0] in Config.model_fields:
            raise UsageError(f"{argument} is a setting, which is written without dashes: {key}=...")


def check_evaluation(keys: list[str]) -> None:
    """Raise UsageError if a setting is only for sweeps, or would change a decision of the training."""
    for key in keys:
        if key == "hydra/launcher":
            raise UsageError("hydra/launcher is for the sweeps of python -m train: leave it out.")
        group, _, rest = key.partition(".")
        if group in TRAINED or (group == "trainer" and rest and rest not in OWN):
            raise UsageError(
                f"{key} is decided by the training of the run: leave it out, or train another run."
            )
