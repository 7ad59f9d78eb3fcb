"""Train one model short and evaluate it long:  python -m train encoding=alibi

With a file of sweeps/ it is many:  python -m train sweeps=encodings
"""

import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from hydra.utils import get_method
from omegaconf import DictConfig

from conf.errors import UsageError
from train.config import cli as command
from train.config.compose import config_of
from train.config.run_id import cell
from train.errors import explained, logged
from train.launch.index import write_index
from train.launch.scheduler import run_all
from train.launch.worker import Job


def entry() -> None:
    """The command line."""
    jobs: list[Job] = []
    started = datetime.now(UTC)
    sweep: list[HydraConf] = []  # Hydra's own settings of each job

    def main(root: DictConfig) -> None:
        config, hydra = config_of(root), HydraConfig.get()
        folder = Path(hydra.runtime.output_dir)
        if hydra.mode == RunMode.MULTIRUN:
            jobs.append(Job(config, list(hydra.overrides.task), folder, cell(config)))
            sweep.append(hydra)
            return
        from train.run import run_job  # torch and lightning: not for the parent of a sweep

        with logged(folder):
            run_job(config, folder)

    with explained():
        command.run("config", main)
        if not jobs:
            return
        check_report(jobs[0].config.report)
        folder = write_index(jobs, started)
        by = sweep[0].runtime.choices["hydra/launcher"]
        failed = run_all(jobs, by, sweep[0].launcher)
        if jobs[0].config.report:
            get_method(jobs[0].config.report)(folder)
    sys.exit(1 if failed else 0)


def check_report(path: str | None) -> None:
    """UsageError where what would be called after all jobs is in no module; it is imported only then."""
    module = "" if path is None else path.rpartition(".")[0]
    if path is not None and not (module and find_spec(module)):
        raise UsageError(f"report={path} should be the dotted path of a function, or null.")


if __name__ == "__main__":
    entry()
