"""Train one model short and evaluate it long:  python -m train encoding=alibi

With a file of sweeps/ it is many:  python -m train sweeps=encodings
"""

import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from hydra.utils import get_method
from omegaconf import DictConfig

from train import command
from train.compose import config_of
from train.errors import explained, logged
from train.jobs import Job, run_all, write_index


def entry() -> None:
    """The command line."""
    jobs: list[Job] = []
    started = datetime.now(UTC)

    def main(root: DictConfig) -> None:
        config, hydra = config_of(root), HydraConfig.get()
        folder = Path(hydra.runtime.output_dir)
        if hydra.mode == RunMode.MULTIRUN:
            jobs.append(Job(config, list(hydra.overrides.task), folder))
            if (
                "BasicLauncher" not in hydra.launcher._target_
            ):  # this is another process, and this job its own
                run_all(jobs)
            return
        from train.job import run_job  # torch and lightning: not for the parent of a sweep

        with logged(folder):
            run_job(config, folder)

    with explained():
        command.run("config", main)
        if not jobs:
            return
        check_report(jobs[0].config.report)
        folder = write_index(jobs, started)
        failed = run_all(jobs)
        if jobs[0].config.report:
            get_method(jobs[0].config.report)(folder)
    sys.exit(1 if failed else 0)


def check_report(path: str | None) -> None:
    """ValueError where what would be called after all jobs is in no module; it is imported only then."""
    module = "" if path is None else path.rpartition(".")[0]
    if path is not None and not (module and find_spec(module)):
        raise ValueError(f"report={path} should be the dotted path of a function, or null.")


if __name__ == "__main__":
    entry()
