"""The error that a user can mend, and text that a terminal can show."""


class UsageError(ValueError):
    """A mistake in a setting, a file or a command.

    Its message is one sentence that says what to do; the command line prints it without a traceback. Any
    other error is a fault of the code that raised it, and keeps its traceback.
    """


def printable(text: str) -> str:
    """Return text of a stranger's without signs that a terminal or a renderer would obey."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
