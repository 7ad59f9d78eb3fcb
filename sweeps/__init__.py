"""The ablations (*.yaml), and the report on their results."""

import sys
from collections.abc import Callable


def command(main: Callable[[], int | None]) -> None:
    """Run the main function of `python -m sweeps.<name>`; a mistake is one sentence and exit code 2."""
    from train.errors import command_line  # with OmegaConf, which only commands need

    with command_line():
        sys.exit(main())
