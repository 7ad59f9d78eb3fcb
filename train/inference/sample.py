"""Text from a trained model:

yardstick sample run=outputs/runs/rope-s0-1a2b3c4d prompt="def " tokens=200 extension=yarn
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Field

from conf.errors import UsageError
from train.config.compose import dotted
from train.config.validation import Natural, Section
from train.errors import command_line


class ModelChoice(Section, strict=False):
    """The trained model that a command line names: run=... extension=yarn extension.factor=8."""

    run: str  # the folder of a finished run
    extension: str = "none"
    parameters: dict[str, Any] = Field(default_factory=dict)  # of the extension

    @classmethod
    def of_arguments(cls, arguments: Sequence[str]) -> Self:
        """Return what a command line chooses. Raise UsageError where it makes no sense."""
        for argument in arguments:
            if "=" not in argument:
                raise UsageError(f"{argument} should be key=value, such as run=outputs/runs/<run>.")
        inner = [argument for argument in arguments if argument.startswith("extension.")]
        outer = dict(argument.split("=", 1) for argument in arguments if argument not in inner)
        parameters = dotted([argument.removeprefix("extension.") for argument in inner])
        return cls.of(outer | {"parameters": parameters})


class SampleChoice(ModelChoice):
    prompt: str
    tokens: Natural = 100  # to generate
    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0  # 0: the likeliest token
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 0


def entry() -> None:
    """Take the command line."""
    with command_line(__doc__):
        choice = SampleChoice.of_arguments(sys.argv[1:])
        from train.load import load  # torch and lightning: not for a command line that is refused

        model = load(choice.run, choice.extension, **choice.parameters)
        print(choice.prompt + model.generate(choice.prompt, choice.tokens, choice.temperature, choice.seed))


if __name__ == "__main__":
    entry()
