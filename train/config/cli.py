"""A command line as Hydra reads it: options anywhere, overrides, folders of configuration and of methods."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode, TaskFunction

from conf.choices import use_methods
from conf.errors import UsageError
from data.code import digest
from train.config.compose import check_overrides, config_of, register, with_flags
from train.config.run_id import name_of
from train.config.schema import Config
from train.config.validation import as_setting
from train.errors import log_traceback
from train.paths import CONF
from train.results.run_folder import DONE


@contextmanager
def open_hydra(arguments: Sequence[str], name: str) -> Iterator[tuple[Hydra, Namespace]]:
    """Yield Hydra on `conf/` and the folders that a command line names, with its options and overrides.

    What only shows something, such as --cfg or --help, ends the process.
    """
    parser = get_args_parser()
    for word in arguments:  # Hydra's own options alone have dashes
        if word.startswith("="):
            raise UsageError(f"{word} should be a setting such as key=value.")
        if word.startswith("--") and word[2:].partition("=")[0].partition(".")[0] in Config.model_fields:
            raise UsageError(
                f"{word} is a setting, which is written without dashes: {word[2:].partition('=')[0]}=..."
            )
    options = parser.parse_intermixed_args(list(arguments))
    if options.config_dir:
        use_methods(Path(options.config_dir))
    check_overrides(options.overrides, name)
    options.overrides = with_flags(options.overrides)
    register()
    with initialize_config_dir(str(CONF), job_name=name, version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        if options.help:
            hydra.app_help(name, parser, options)
        elif options.hydra_help:
            hydra.hydra_help(name, parser, options)
        elif options.shell_completion:
            hydra.shell_completion(name, options.overrides)
        elif options.cfg:
            hydra.show_cfg(name, options.overrides, options.cfg, options.package, options.resolve)
        elif options.info:
            hydra.show_info(options.info, name, options.overrides)
        else:
            yield hydra, options
            return
    raise SystemExit(0)


def run_command(arguments: Sequence[str], name: str, sweep: TaskFunction) -> None:
    """Compose `conf/<name>.yaml` with a command line and run it in its folder; let Hydra's sweeper and
    launcher run each job of a `sweep`."""
    with open_hydra(arguments, name) as (hydra, options):
        overrides = options.overrides
        if options.multirun or hydra.get_mode(name, overrides) == RunMode.MULTIRUN:
            root = hydra.compose_config(name, overrides, RunMode.MULTIRUN, validate_sweep_overrides=False)
            if not root.hydra.sweep.dir:
                chosen = root.hydra.runtime.choices.get("sweeps")
                folder = chosen or f"multirun-{digest(sorted(overrides))}"
                overrides.append(f"hydra.sweep.dir=${{outputs}}/sweeps/{folder}")
            hydra.multirun(name, sweep, overrides)
        else:
            run_once(hydra, name, overrides)


def run_once(hydra: Hydra, name: str, overrides: list[str]) -> None:
    """Check the settings, name the folder of the run, and let Hydra run it there."""
    root = hydra.compose_config(name, overrides, RunMode.RUN)
    config, errors = config_of(root), list[Exception]()
    if not root.hydra.run.dir:
        place = Path(config.run, "evaluations") if config.run else Path(config.outputs, "runs")
        folder = place / name_of(config)
        overrides.append(f"hydra.run.dir={quoted(folder)}")
    else:
        folder = Path(root.hydra.run.dir)
    if (folder / DONE).exists():  # what describes a finished run stays
        overrides.append("hydra.output_subdir=null")
    from train.run import run_job  # torch and lightning: not for the parent of a sweep

    def task(_: object) -> float | None:
        try:
            with log_traceback(output_folder()):
                return run_job(config, output_folder())
        except Exception as error:
            errors.append(error)  # Hydra would print a line before it
            return None

    hydra.run(name, task, overrides)
    if errors:
        raise errors[0]


def output_folder() -> Path:
    """Return the folder of the job that Hydra runs."""
    return Path(HydraConfig.get().runtime.output_dir)


def quoted(path: Path) -> str:
    """Return a path in the syntax of Hydra's overrides."""
    return "'" + str(path).replace("\\", "\\\\").replace("'", "\\'") + "'"


def function(key: str, path: Any) -> Callable[..., Any]:
    """Return the function at the dotted path in a setting."""
    try:
        found = resolve_name(str(path))
    except (ImportError, AttributeError, ValueError):
        found = None
    if not callable(found):
        raise UsageError(f"{key}={as_setting(path)} should be the dotted path of a function.")
    return found
