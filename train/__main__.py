"""Train one model short and evaluate it long:  yardstick train encoding=alibi

With a file of sweeps/ it is many:  yardstick train sweeps=encodings
"""

import sys
from collections.abc import Callable
from contextlib import suppress

from hydra.types import TaskFunction

from train.config.cli import run_command
from train.errors import command_line
from train.runtime.environment import set_environment


def entry(is_evaluation: bool = False) -> None:
    """Run `yardstick train` with the command line's arguments; with `run=...` it evaluates that run."""
    set_environment()
    with command_line():
        is_evaluation = is_evaluation or any(word.startswith("run=") for word in sys.argv[1:])
        run_command(sys.argv[1:], "evaluate" if is_evaluation else "config", run_sweep)


def run_sweep(run: Callable[[TaskFunction], object]) -> None:
    """Let Hydra run the jobs of a sweep, make its report, and end the process with the exit code."""
    from train.launch.launchers import JobError, Multirun, register_launchers  # not for a single run

    register_launchers()
    jobs = Multirun()
    with suppress(JobError):  # each has been reported
        run(jobs)
    sys.exit(jobs.report())


if __name__ == "__main__":
    entry()
