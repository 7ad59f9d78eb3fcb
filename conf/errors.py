"""The error that a user can mend."""


class UsageError(ValueError):
    """A mistake in a setting, a file or a command.

    Its message is one sentence that says what to do; the command line prints it without a traceback. Any
    other error is a fault of the code that raised it, and keeps its traceback.
    """
