"""Text from a trained model:

yardstick sample run=outputs/runs/rope-s0-1a2b3c4d prompt="def " tokens=200 extension=yarn
"""

import sys
from typing import Annotated

from pydantic import Field

from train.config.validation import Natural
from train.errors import command_line
from train.inference.model_choice import ModelChoice


class SampleChoice(ModelChoice):
    prompt: str
    tokens: Natural = 100  # to generate
    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0  # 0: the likeliest token
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 0


def entry() -> None:
    """Run `yardstick sample` with the command line's arguments."""
    with command_line(__doc__):
        choice = SampleChoice.of_arguments(sys.argv[1:])
        from data.text.documents import clean
        from train.load import load  # torch and lightning: not for a command line that is refused

        model = load(choice.run, choice.extension, **choice.parameters)
        text = model.generate(choice.prompt, choice.tokens, choice.temperature, choice.seed)
        print(clean(choice.prompt) + text)


if __name__ == "__main__":
    entry()
