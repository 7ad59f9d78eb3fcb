"""Progress of work: lines in a log, or one changing line in a terminal."""

import sys
from shutil import get_terminal_size


class Status:
    """The last line of a terminal, which the next one replaces."""

    def __init__(self) -> None:
        self.is_shown = False

    def show(self, *lines: str) -> None:
        """Print lines in place of the status; the last of them becomes the new status."""
        *above, status = lines
        if sys.stdout.isatty():
            print("\033[A\033[K" * self.is_shown, end="")
            status = status[: get_terminal_size().columns]  # a second row would stay
        print(*above, status, sep="\n", flush=True)
        self.is_shown = True


def duration(seconds: float) -> str:
    """Return a time as people say it: 40 s, 9 minutes, 3 hours."""
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
