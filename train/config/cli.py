"""A command line as Hydra reads it: options anywhere, overrides, folders of configuration and of methods."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import JobStatus, setup_globals
from hydra.core.utils import run_job as run_by_hydra
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict, read_write

from conf.choices import use_methods
from train.config.compose import register
from train.config.trained_run import EVALUATIONS, check_overrides
from train.paths import CONF
from train.results.run_folder import DONE


@contextmanager
def open_hydra(arguments: Sequence[str], name: str) -> Iterator[tuple[Hydra, Namespace]]:
    """Yield Hydra on `conf/` and the folders that a command line names, with its options and overrides.

    What only shows something, such as --cfg or --help, ends the process.
    """
    parser = get_args_parser()
    options = parser.parse_intermixed_args(list(arguments))
    overrides = options.overrides
    if options.config_dir:
        use_methods(Path(options.config_dir))
    if name in EVALUATIONS:
        check_overrides(overrides)
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


def run_in(folder: Path, root: DictConfig, task: TaskFunction) -> None:
    """Run a task in a folder as Hydra does: with the settings in `.hydra`, and the log."""
    with read_write(root.hydra), open_dict(root):
        root.hydra.run.dir = str(folder)
        if (folder / DONE).exists():  # what describes a finished run stays
            root.hydra.output_subdir = None

    setup_globals()
    context = HydraContext(config_loader=None, callbacks=Callbacks(root))  # type: ignore[arg-type]  # unused
    job = run_by_hydra(task, root, "hydra.run.dir", None, context)
    if job.status == JobStatus.FAILED:
        raise job._return_value  # `return_value` would print a line before it


def quoted(path: str | Path) -> str:
    """Return a path in the syntax of Hydra's overrides."""
    return "'" + str(path).replace("\\", "\\\\").replace("'", "\\'") + "'"
