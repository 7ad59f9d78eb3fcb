"""Train one model short and evaluate it long:  python -m train encoding=alibi

With a file of sweeps/ it is many:  python -m train sweeps=encodings
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob
from hydra.types import RunMode
from hydra.utils import get_method
from omegaconf import DictConfig

from train import command
from train.compose import config_of
from train.errors import explained, logged
from train.jobs import Job, run_all, write_index
from train.paths import CONF


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
        check_globs(sys.argv[1:])
        command.run("config", main)
        if not jobs:
            return
        folder = write_index(jobs, started)
        failed = run_all(jobs)
        if jobs[0].config.report:
            get_method(jobs[0].config.report)(folder)
    sys.exit(1 if failed else 0)


def check_globs(arguments: list[str]) -> None:
    """ValueError where a pattern of names, as in encoding=glob(rope*), matches none."""
    for override in OverridesParser.create().parse_overrides([one for one in arguments if "=glob(" in one]):
        names = sorted(file.stem for file in (CONF / override.key_or_group).glob("*.yaml"))
        value = override.value()
        if isinstance(value, Glob) and not value.filter(names):
            raise ValueError(f"{override.input_line} matches nothing; there are: {', '.join(names)}.")


if __name__ == "__main__":
    entry()
