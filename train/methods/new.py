"""Templates for a method outside the repository:

yardstick new my_bias to=methods
"""

import re
import sys
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template

from conf.choices import files
from conf.errors import UsageError
from train.errors import command_line

NAME = re.compile(r"[a-z][a-z0-9_]*")
CODE = Template('''"""$Class (authors, year, https://...): logits fall with the logarithm of the distance."""

import torch
from torch import Tensor, nn

from models.effect import ByDistance, Effect, Positions
from models.encoding import Encoding


class $Class(Encoding):
    def __init__(self, heads: int, start: float = 0.1) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.full((heads, 1), start))

    def forward(self, positions: Positions) -> Effect:
        def bias(distance: Tensor) -> Tensor:  # (N,) -> (H, N)
            return -self.slope.float() * (1 + distance.abs().float()).log()

        return Effect(positions, bias=ByDistance(bias))
''')
SETTINGS = Template("""# What to expect of it, in one or two lines.
_target_: $name.$Class
family: bias by distance  # the panel that its curve is drawn in
start: 0.1  # slope of each head, before training
""")
TEST = Template('''"""The formula of $name, from the paper, in float64 and without its module."""

import math
from pathlib import Path

import torch

from conf.choices import use_methods
from models.effect import Positions
from models.registry import load

use_methods(Path(__file__).parent)


def test_bias_is_the_paper_s() -> None:
    effect = load("$name", heads=2, start=0.3).effect_at(Positions.of(8))
    assert effect.bias is not None
    found = effect.bias(torch.arange(8)[:, None], torch.arange(8))  # (H, T, T)
    for head in range(2):
        for i in range(8):
            for j in range(i + 1):
                expected = -0.3 * math.log(1 + i - j)
                assert math.isclose(found[head, i, j].item(), expected, rel_tol=1e-5)
''')


def write_method(name: str, folder: Path) -> list[Path]:
    """Write a method, its settings and its test. Raise UsageError if the name is taken or not valid."""
    if not NAME.fullmatch(name) or iskeyword(name):
        raise UsageError(f"'{name}' should be a name such as my_bias: small letters, digits and _.")
    if name in files("encoding") or find_spec(name) is not None:
        raise UsageError(f"'{name}' is the name of an encoding or of an installed module: choose another.")
    words = {"name": name, "Class": name.title().replace("_", "")}
    contents = {
        folder / f"{name}.py": CODE, folder / "encoding" / f"{name}.yaml": SETTINGS,
        folder / f"test_{name}.py": TEST,
    }  # fmt: skip
    for file in contents:
        if file.exists():
            raise UsageError(f"{file} exists already: choose another name, or another folder, to=...")
    for file, content in contents.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content.substitute(words))
    return list(contents)


def entry() -> None:
    """Run `yardstick new` with the command line's arguments."""
    with command_line(__doc__):
        settings = dict(item.partition("=")[::2] for item in sys.argv[2:])
        if len(sys.argv) < 2 or "=" in sys.argv[1] or not settings.keys() <= {"to"}:
            raise UsageError("Give a name and, if you like, a folder: yardstick new my_bias to=methods")
        name, folder = sys.argv[1], Path(settings.get("to", "methods"))
        print(*write_method(name, folder), sep="\n")
        print(
            f"\nCheck it:   yardstick check {name} methods={folder}\n"
            f"Test it:    python -m pytest {folder}\n"
            f"Train it:   yardstick encoding={name} methods={folder}\n"
            f"Compare it: yardstick sweeps=encodings encoding={name},alibi,rope methods={folder}"
        )


if __name__ == "__main__":
    entry()
