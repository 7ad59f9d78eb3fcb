"""The ablations (*.yaml), and the report on what came out of them."""

import sys
from collections.abc import Callable


def command(main: Callable[[], int | None]) -> None:
    """Run the main function of `python -m sweeps.<name>`: a mistake is one sentence and exit code 1."""
    try:
        sys.exit(main())
    except OSError as error:
        named = f"{error.strerror} ({error.filename})." if error.strerror and error.filename else error
        sys.exit(f"yardstick: {named}")
    except ValueError as error:
        sys.exit(f"yardstick: {error}")
