"""The error that a user can mend, and text that is safe to show in a terminal."""

import re

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # by terminals


class UsageError(ValueError):
    """A mistake in a setting, a file or a command.

    Its message is one sentence that says what to do; the command line prints it without a traceback. Any
    other error is a fault of the code that raised it, and keeps its traceback.
    """


def printable(text: str) -> str:
    """Return foreign text without characters that a terminal or a renderer would obey."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
