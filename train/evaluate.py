"""Evaluation of a run that is already trained.

yardstick evaluate run=outputs/runs/rope-s0-1a2b3c4d evaluation.extensions=[pi,ntk,yarn]
yardstick evaluate model=<folder, Hub name or .gguf file>     a checkpoint of transformers
"""

import sys
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from train.config import cli as command
from train.config.compose import compose_config, config_of
from train.config.run_id import name
from train.errors import command_line
from train.results.done import RESULTS
from train.results.rows import Row, read_rows
from train.run import run_job


def evaluate(run: str | Path, *overrides: str) -> list[Row]:
    """Evaluate the model of a run folder, with settings such as "extension=yarn", and return its rows."""
    config = compose_config(f"run='{run}'", *overrides, name="evaluate")
    folder = Path(run, "evaluations", name(config))
    run_job(config, folder)
    return read_rows(folder / RESULTS)


def entry() -> None:
    """Run `python -m train.evaluate` with the command line's arguments."""

    if any(argument.startswith("model=") for argument in sys.argv[1:]):
        from train.public.evaluate import entry as evaluate_public  # transformers takes seconds to import

        evaluate_public()
        return

    def main(root: DictConfig) -> None:
        run_job(config_of(root), Path(HydraConfig.get().runtime.output_dir))

    with command_line(__doc__):
        command.run_command("evaluate", main)


if __name__ == "__main__":
    entry()
