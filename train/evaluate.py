"""Evaluation of a run that is already trained.

yardstick evaluate run=outputs/runs/rope-s0-1a2b3c4d evaluation.extensions=[pi,ntk,yarn]
yardstick evaluate model=<folder, Hub name or .gguf file>     a checkpoint of transformers
"""

import sys
from pathlib import Path

from train import __main__ as command
from train.config.compose import compose_config, quoted
from train.config.run_id import name_of, run_id_of
from train.results.rows import Row, read_rows
from train.results.run_folder import RESULTS


def evaluate(run: str | Path, *overrides: str) -> list[Row]:
    """Evaluate the model of a run folder, with settings such as "extension=yarn", and return its rows."""
    from train.run import run_job  # torch and lightning: not for the parent of a sweep

    config = compose_config(f"run={quoted(Path(run))}", *overrides, name="evaluate")
    run_id = run_id_of(config)
    folder = Path(run, "evaluations", name_of(config, run_id))
    run_job(config, folder, run_id)
    return read_rows(folder / RESULTS)


def entry() -> None:
    """Run `yardstick evaluate` with the command line's arguments."""
    if any(argument.startswith("model=") for argument in sys.argv[1:]):
        from train.public.evaluate import entry as evaluate_public  # transformers takes seconds to import

        evaluate_public()
        return
    command.entry(is_evaluation=True)


if __name__ == "__main__":
    entry()
