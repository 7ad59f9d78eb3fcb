"""The trained model that a command line names."""

from collections.abc import Sequence
from typing import Any, Self

from pydantic import Field

from conf.errors import UsageError
from train.config.compose import dotted
from train.config.validation import Section


class ModelChoice(Section, strict=False):
    """run=... extension=yarn extension.factor=8, and what a command adds."""

    run: str  # the folder of a finished run
    extension: str = "none"
    parameters: dict[str, Any] = Field(default_factory=dict)  # of the extension

    @classmethod
    def of_arguments(cls, arguments: Sequence[str]) -> Self:
        """Return the choice of a command line. Raise UsageError if it makes no sense."""
        for argument in arguments:
            if "=" not in argument:
                raise UsageError(f"{argument} should be key=value, such as run=outputs/runs/<run>.")
        inner = [argument for argument in arguments if argument.startswith("extension.")]
        outer = dict(argument.split("=", 1) for argument in arguments if argument not in inner)
        parameters = dotted([argument.removeprefix("extension.") for argument in inner])
        return cls.of(outer | {"parameters": parameters})
