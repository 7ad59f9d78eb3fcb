"""Evaluation of a run that is already trained.

python -m train.evaluate run=outputs/runs/rope-s0-1a2b3c4d evaluation.extensions=[pi,ntk,yarn]
"""

from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from train.config import cli as command
from train.config.compose import config_of
from train.errors import command_line
from train.run import run_job


def entry() -> None:
    """Run `python -m train.evaluate` with the command line's arguments."""

    def main(root: DictConfig) -> None:
        run_job(config_of(root), Path(HydraConfig.get().runtime.output_dir))

    with command_line(__doc__):
        command.run_command("evaluate", main)


if __name__ == "__main__":
    entry()
