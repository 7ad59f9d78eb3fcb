"""Train one model short and evaluate it long:  python -m train encoding=alibi

With a file of sweeps/ it is many:  python -m train sweeps=encodings
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from train.commands import help_text
from train.config import cli as command
from train.config.compose import config_of
from train.config.run_id import run_id_of
from train.errors import command_line, log_traceback
from train.launch.index import write_index
from train.launch.scheduler import run_all
from train.launch.worker import Job
from train.wandb_run import tell_offline, wandb_id


def entry() -> None:
    """Run `python -m train` with the command line's arguments."""
    jobs: list[Job] = []
    started = datetime.now(UTC)
    sweep: list[HydraConf] = []  # Hydra's own settings of each job

    def main(root: DictConfig) -> None:
        config, hydra = config_of(root), HydraConfig.get()
        folder = Path(hydra.runtime.output_dir)
        if hydra.mode == RunMode.MULTIRUN:
            jobs.append(Job(config, list(hydra.overrides.task), folder, run_id_of(config)))
            sweep.append(hydra)
            return
        from train.run import run_job  # torch and lightning: not for the parent of a sweep

        with log_traceback(folder):
            run_job(config, folder)

    with command_line(help_text()):
        command.run_command("config", main)
        if not jobs:
            return
        path = jobs[0].config.report
        report = None if path is None else command.function("report", path)
        folder = write_index(jobs, started)
        by = sweep[0].runtime.choices["hydra/launcher"]
        failed = run_all(jobs, by, sweep[0].launcher)
        if report:
            report(folder)
        tell_offline(jobs[0].config.outputs, (wandb_id(job.folder, job.id) for job in jobs))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    entry()
