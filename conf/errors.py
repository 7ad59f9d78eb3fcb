"""The error that a user can mend, and text that is safe to show in a terminal."""

import difflib
from collections.abc import Iterable


class UsageError(ValueError):
    """A mistake in a setting, a file or a command.

    Its message is one sentence that says what to do; the command line prints it without a traceback. Any
    other error is a fault of the code that raised it, and keeps its traceback.
    """


def printable(text: str) -> str:
    """Return foreign text without characters that a terminal or a renderer would obey."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def no_choice(kind: str, name: str, known: Iterable[str]) -> str:
    """Return a sentence about a choice that does not exist, with all that do."""
    known = list(known)
    return f"There is no {kind} '{name}'.{did_you_mean(name, known)} There are: {', '.join(known)}."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the name that was probably meant."""
    known = list(known)
    short = [candidate for candidate in known if initials(candidate) == name]
    close = short or difflib.get_close_matches(name, known, 1)
    return f" Did you mean '{close[0]}'?" if close else ""


def initials(key: str) -> str:
    """Return a key with its last part abbreviated: optimizer.learning_rate becomes optimizer.lr."""
    group, dot, name = key.rpartition(".")
    return group + dot + "".join(word[:1] for word in name.split("_"))
