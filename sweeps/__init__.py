"""The ablations (*.yaml), and the report on what came out of them."""

import sys
from collections.abc import Callable


def command(main: Callable[[], int | None]) -> None:
    """Run the main function of `python -m sweeps.<name>`: a mistake is one sentence and exit code 2."""
    from train.errors import explain_errors  # with OmegaConf, which only commands need

    with explain_errors():
        sys.exit(main())
