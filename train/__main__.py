"""Train one model short and evaluate it long:  yardstick train encoding=alibi

With a file of sweeps/ it is many:  yardstick train sweeps=encodings
"""

import sys
from contextlib import suppress
from pathlib import Path

from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra.core.utils import JobStatus, setup_globals
from hydra.core.utils import run_job as run_by_hydra
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, open_dict, read_write

from data.digest import short_digest
from train.config.compose import config_of, open_hydra
from train.config.run_id import name_of, run_id_of
from train.errors import command_line
from train.results.run_folder import DONE
from train.runtime.process import set_environment


def entry(is_evaluation: bool = False) -> None:
    """Run `yardstick train` with the command line's arguments; with `run=...` it evaluates that run."""
    set_environment()
    with command_line():
        is_evaluation = is_evaluation or any(word.startswith("run=") for word in sys.argv[1:])
        name = "evaluate" if is_evaluation else "config"
        with open_hydra(sys.argv[1:], name) as (hydra, options):
            overrides = options.overrides
            root = hydra.compose_config(name, overrides, RunMode.MULTIRUN, validate_sweep_overrides=False)
            if options.multirun or root.hydra.mode == RunMode.MULTIRUN:
                run_sweep(hydra, name, root, overrides)
            else:
                run_one(hydra.compose_config(name, overrides, RunMode.RUN))


def run_one(root: DictConfig) -> None:
    """Run the settings that Hydra composed, in a folder that is named by what determines the results; there
    Hydra writes `.hydra` and the log, as in any of its projects."""
    config = config_of(root)
    place = Path(config.run, "evaluations") if config.run else Path(config.outputs, "runs")
    run_id = run_id_of(config)
    folder = Path(root.hydra.run.dir or place / name_of(config, run_id)).absolute()
    with read_write(root.hydra), open_dict(root):
        root.hydra.run.dir = str(folder)
        if (folder / DONE).exists():  # what describes a finished run stays
            root.hydra.output_subdir = None

    from train.run import run_job  # torch and lightning: not for the parent of a sweep

    setup_globals()
    context = HydraContext(config_loader=None, callbacks=Callbacks(root))  # type: ignore[arg-type]  # unused
    job = run_by_hydra(lambda _: run_job(config, folder, run_id), root, "hydra.run.dir", None, context)
    if job.status == JobStatus.FAILED:
        raise job._return_value  # `return_value` would print a line before it


def run_sweep(hydra: Hydra, name: str, root: DictConfig, overrides: list[str]) -> None:
    """Let Hydra's sweeper and launcher run the jobs, make the report, and end with the exit code."""
    from train.launch.launchers import JobError, Multirun, register_launchers  # not for a single run

    if not root.hydra.sweep.dir:
        place = root.hydra.runtime.choices.get("sweeps") or f"multirun-{short_digest(sorted(overrides))}"
        overrides = [*overrides, f"hydra.sweep.dir=${{outputs}}/sweeps/{place}"]
    register_launchers()
    jobs = Multirun()
    with suppress(JobError):  # each has been reported
        hydra.multirun(name, jobs, overrides)
    sys.exit(jobs.report())


if __name__ == "__main__":
    entry()
