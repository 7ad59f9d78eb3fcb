"""The ablations (*.yaml), and the report on what came out of them."""

import sys
from collections.abc import Callable


def command(main: Callable[[], int | None]) -> None:
    """Run the main function of `python -m sweeps.<name>`: a mistake is one sentence and exit code 1."""
    try:
        sys.exit(main())
    except (ValueError, OSError) as error:
        named = isinstance(error, OSError) and error.strerror and error.filename
        sys.exit(f"yardstick: {f'{error.strerror} ({error.filename}).' if named else error}")
