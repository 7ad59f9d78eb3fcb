"""A method outside the repository, as a copy of `train/methods/example` with another name:

yardstick new my_bias to=methods
"""

import re
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from conf.choices import files
from conf.errors import UsageError
from data.cache import atomic_write
from train.errors import command_line

EXAMPLE = Path(__file__).parent / "example"
NAME = re.compile(r"[a-z][a-z0-9_]*")


def write_method(name: str, folder: Path) -> list[Path]:
    """Write a method, its settings and its test. Raise UsageError if the name is taken or not valid."""
    if not NAME.fullmatch(name) or iskeyword(name):
        raise UsageError(f"'{name}' should be a name such as my_bias: small letters, digits and _.")
    if name in files("encoding") or find_spec(name) is not None:
        raise UsageError(f"'{name}' is the name of an encoding or of an installed module: choose another.")
    contents = {}
    for file in sorted(EXAMPLE.rglob("*my_bias.*")):
        text = (
            file.read_text("utf-8").replace("my_bias", name).replace("MyBias", name.title().replace("_", ""))
        )
        contents[folder / str(file.relative_to(EXAMPLE)).replace("my_bias", name)] = text
    if taken := next((file for file in contents if file.exists()), None):
        raise UsageError(f"{taken} exists already: choose another name, or another folder, to=...")
    with ExitStack() as whole:  # all of them, or none
        for file, text in contents.items():
            out = whole.enter_context(atomic_write(file))
            out.write(text.encode())
            out.flush()
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
