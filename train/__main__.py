"""Train one model short and evaluate it long:  yardstick train encoding=alibi

With a file of sweeps/ it is many:  yardstick train sweeps=encodings
"""

import sys
from contextlib import suppress

from train.config.cli import function, run_command
from train.errors import command_line
from train.launch.launchers import register_launchers
from train.launch.sweep import JobError, Sweep
from train.runtime.environment import set_environment


def entry(is_evaluation: bool = False) -> None:
    """Run `yardstick train` with the command line's arguments; with `run=...` it evaluates that run."""
    set_environment()
    with command_line():
        is_evaluation = is_evaluation or any(word.startswith("run=") for word in sys.argv[1:])
        sweep = Sweep()
        register_launchers()
        with suppress(JobError):  # each has been reported
            run_command(sys.argv[1:], "evaluate" if is_evaluation else "config", sweep)
        sys.exit(finish(sweep))


def finish(sweep: Sweep) -> int:
    """Make the report of a sweep, and return the exit code of the command."""
    if not sweep.jobs:
        return 0
    config, folder = sweep.jobs[0].config, sweep.jobs[0].folder.parent
    if config.report is not None:
        function("report", config.report)(folder)
    return 0 if all(job.is_done for job in sweep.jobs) else 1


if __name__ == "__main__":
    entry()
