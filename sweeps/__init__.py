"""The ablations (*.yaml), and the report on their results."""

import sys
from collections.abc import Callable


def command(main: Callable[[], int | None]) -> None:
    """Run the main function of `python -m sweeps.<name>`; --help prints the docstring of its module.

    A mistake is one sentence and exit code 2.
    """
    from train.errors import command_line  # with OmegaConf, which only commands need

    usage = main.__globals__["__doc__"]  # runpy keeps its module in no list
    with command_line(usage):
        sys.exit(main())


def is_option(word: str) -> bool:
    """Return whether a word of a command line is an option, such as at=8x, and not a method or a folder whose
    name has a setting, such as "rope base=500"."""
    return "=" in word and word.partition("=")[0].isidentifier()
