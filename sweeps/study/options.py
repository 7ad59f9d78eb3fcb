"""The options of the tables of the study."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from conf.errors import UsageError, no_choice


@dataclass(frozen=True)
class StudyOptions:
    """The command line of `sweeps.study`, after the folders."""

    times: int = 4  # the training length
    seeds: int = 5  # that a sweep is planned with

    @classmethod
    def of(cls, words: Sequence[str]) -> "StudyOptions":
        """Return the options in words such as times=8. Raise UsageError for a wrong name or number."""
        given, known = {}, [field.name for field in fields(cls)]
        for key, text in (word.split("=", 1) for word in words):
            if key not in known:
                raise UsageError(no_choice("option", key, known))
            if not (text.isdecimal() and int(text)):
                raise UsageError(f"{key}={text} should be a whole number of at least 1.")
            given[key] = int(text)
        return cls(**given)
