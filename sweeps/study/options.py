"""The options of the tables of the study."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from conf.errors import UsageError, no_choice


@dataclass(frozen=True)
class StudyOptions:
    """The command line of `sweeps.study`, after the folders."""

    times: int = 4  # the training length
    seeds: int = 5  # that a sweep is planned with
    reference: str | None = None  # method

    @classmethod
    def of(cls, words: Sequence[str]) -> "StudyOptions":
        """Return the options in words such as times=8. Raise UsageError for a wrong name or number."""
        kinds, given = {field.name: field.type for field in fields(cls)}, dict[str, Any]()
        for key, text in (word.split("=", 1) for word in words):
            if key not in kinds:
                raise UsageError(no_choice("option", key, kinds))
            if kinds[key] is int and not (text.isdecimal() and int(text)):
                raise UsageError(f"{key}={text} should be a whole number of at least 1.")
            given[key] = int(text) if kinds[key] is int else text
        return cls(**given)
