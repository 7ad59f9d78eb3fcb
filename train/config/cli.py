"""A command line as Hydra reads it: options anywhere, overrides, folders of configuration and of methods."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobStatus, setup_globals
from hydra.core.utils import run_job as run_by_hydra
from hydra.types import HydraContext, RunMode, TaskFunction
from omegaconf import DictConfig, open_dict, read_write

from conf.choices import use_methods
from conf.errors import UsageError
from data.code import short_digest
from train.config.compose import allowed_overrides, config_of, register
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
        key = word.removeprefix("--").partition("=")[0]
        if not key:
            raise UsageError(f"{word} should be a setting such as key=value.")
        if word.startswith("--") and key.partition(".")[0] in Config.model_fields:
            raise UsageError(f"{word} is a setting, which is written without dashes: {key}=...")
    options = parser.parse_intermixed_args(list(arguments))
    if options.config_dir:
        use_methods(Path(options.config_dir))
    options.overrides = overrides = allowed_overrides(options.overrides, name)
    register()
    with initialize_config_dir(str(CONF), job_name=name, version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        if options.help:
            hydra.app_help(name, parser, options)
        elif options.hydra_help:
            hydra.hydra_help(name, parser, options)
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


def run_command(
    arguments: Sequence[str], name: str, run_sweep: Callable[[Callable[[TaskFunction], object]], None]
) -> None:
    """Compose `conf/<name>.yaml` with a command line and run it in its folder; let Hydra's sweeper and
    launcher run each job of a sweep."""
    with open_hydra(arguments, name) as (hydra, options):
        overrides = options.overrides
        if options.multirun or hydra.get_mode(name, overrides) == RunMode.MULTIRUN:
            root = hydra.compose_config(name, overrides, RunMode.MULTIRUN, validate_sweep_overrides=False)
            if not root.hydra.sweep.dir:
                chosen = root.hydra.runtime.choices.get("sweeps")
                place = chosen or f"multirun-{short_digest(sorted(overrides))}"
                overrides.append(f"hydra.sweep.dir=${{outputs}}/sweeps/{place}")
            run_sweep(lambda task: hydra.multirun(name, task, overrides))
            return
        root = hydra.compose_config(name, overrides, RunMode.RUN)
        config = config_of(root)
        folder = Path(root.hydra.run.dir or default_folder(config)).absolute()
        from train.run import run_job  # torch and lightning: not for the parent of a sweep

        run_in(folder, root, lambda _: run_job(config, folder))


def default_folder(config: Config) -> Path:
    """Return the folder of a run, named by what determines its results."""
    place = Path(config.run, "evaluations") if config.run else Path(config.outputs, "runs")
    return place / name_of(config)


def run_in(folder: Path, root: DictConfig, task: TaskFunction) -> None:
    """Run a task in a folder as Hydra does: with the settings in `.hydra`, and the log."""
    with read_write(root.hydra), open_dict(root):
        root.hydra.run.dir = str(folder)
        if (folder / DONE).exists():  # what describes a finished run stays
            root.hydra.output_subdir = None

    def logged(settings: Any) -> Any:
        with log_traceback(folder):
            return task(settings)

    setup_globals()
    context = HydraContext(config_loader=None, callbacks=Callbacks(root))  # type: ignore[arg-type]  # unused
    job = run_by_hydra(logged, root, "hydra.run.dir", None, context)
    if job.status == JobStatus.FAILED:
        raise job._return_value  # `return_value` would print a line before it


def output_folder() -> Path:
    """Return the folder of the job that Hydra runs."""
    return Path(HydraConfig.get().runtime.output_dir)


def quoted(path: str | Path) -> str:
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
