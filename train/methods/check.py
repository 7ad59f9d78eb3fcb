"""Check a method against what its class declares, in half a minute:

yardstick check my_bias methods=methods          a name of conf/encoding or of a folder of methods
yardstick check my_package.MyEncoding start=0.2  a class, with parameters
"""

import sys
from pathlib import Path
from pkgutil import resolve_name

from conf.errors import UsageError
from train.build import build_encodings
from train.config.compose import compose_config
from train.config.schema import Config
from train.errors import command_line
from train.methods.conformance import HEADS, LENGTH, WIDTH, findings
from train.runtime.process import quiet

PICTURE = "sweeps.gallery.page.method_figure"  # found when it is called, as sweeps/ is above train/
SIZES = (f"model.width={WIDTH}", f"model.heads={HEADS}", f"model.length={LENGTH}")
TINY = ("trainer=cpu", "data=copy", "model.depth=4", *SIZES)  # four layers: the longest schedule of conf/


def tiny_config(target: str, parameters: list[str]) -> Config:
    """Return the settings of a tiny run with a method, by its name or the path of its class."""
    chosen = [f"encoding={target}"]
    if "." in target:
        name = target.rpartition(".")[2]
        chosen = ["encoding=nope", f"encoding._target_={target}", f"names.encoding={name}"]
    settings = [f"++encoding.{item}" if "." in target else f"encoding.{item}" for item in parameters]
    return compose_config(*chosen, *settings, *TINY)


def check_method(arguments: list[str]) -> int:
    """Print the findings, and return the number of checks that failed."""
    if not arguments or "=" in arguments[0]:
        raise UsageError("Give a name or a class: yardstick check my_bias methods=methods")
    quiet()
    config = tiny_config(arguments[0], arguments[1:])
    failures = 0
    for finding in findings(config, compose_config("encoding=rope", *TINY)):
        print("ok  " if finding.is_right else "FAIL", finding.text, flush=True)
        failures += not finding.is_right
    name, folder = config.names.encoding, Path(config.outputs) / "check"
    if figure := resolve_name(PICTURE)(name, build_encodings(config)[0]):
        print(f"Picture: {figure.save(folder)[0]}")
    print(f"{name} is not ready: mend what FAILs." if failures else f"{name} does what its class declares.")
    return failures


def entry() -> None:
    """Run `yardstick check` with the command line's arguments: exit code 0 if all checks pass, else 1."""
    with command_line(__doc__):
        failures = check_method(sys.argv[1:])
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    entry()
