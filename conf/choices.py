"""All that can be chosen: the files of `conf/`, and of the folders that `methods=<folder>` names.

Such a folder holds modules, and the YAML files of their methods as `conf/` does: `encoding/my_bias.yaml`.
"""

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from conf.errors import UsageError

CONF = Path(__file__).resolve().parent
VARIABLE = "YARDSTICK_METHODS"  # reaches all processes that a command starts


def method_folders() -> list[Path]:
    """Return the folders of methods that are in use."""
    return [Path(folder) for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]


def files(group: str) -> dict[str, Path]:
    """Return the files of a group of `conf/` and of the method folders, by name."""
    found = [file for folder in (CONF, *method_folders()) for file in (folder / group).glob("*.yaml")]
    return {file.stem: file for file in sorted(found, key=lambda file: file.stem)}


def content(group: str, name: str) -> dict[str, Any]:
    """Return the content of a file of a group, over that of the files of the group in its `defaults`."""
    file = files(group)[name]
    settings = parse(file, file.stat().st_mtime_ns).copy()
    bases = [base for base in settings.pop("defaults", []) if isinstance(base, str)]  # no other packages
    merged = OmegaConf.merge(*(content(group, base) for base in bases if base in files(group)), settings)
    return cast(dict[str, Any], OmegaConf.to_container(merged, resolve=True))


@cache
def parse(file: Path, changed: int) -> DictConfig:
    """Return the content of a file, read once while nobody changes it: parsing takes milliseconds."""
    return cast(DictConfig, OmegaConf.load(file))


def use_methods(folder: Path) -> None:
    """Add a folder of methods for this process and its children."""
    folder = folder.resolve()
    contents = {file.relative_to(folder) for file in folder.glob("*/*.yaml")}
    if not contents:
        raise UsageError(f"{folder} has no <group>/<name>.yaml, such as encoding/<name>.yaml.")
    for file in sorted(contents):
        if (CONF / file).exists():
            raise UsageError(f"{folder / file} has the name of a file of conf/: choose another name.")
    modules = {file.relative_to(folder) for file in folder.glob("*.py")}
    for other in method_folders():
        for file in sorted(contents | modules):
            if other != folder and (other / file).exists():
                raise UsageError(f"{folder / file} has the name of a file of {other}: choose another name.")
    if folder not in method_folders():
        os.environ[VARIABLE] = os.pathsep.join([*map(str, method_folders()), str(folder)])
        sys.path.append(str(folder))


def take_methods(arguments: list[str]) -> list[str]:
    """Use each folder that a command line names by methods=<folder>, and return the other arguments."""
    for folder in method_folders():
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    rest = []
    for argument in arguments:
        key, _, value = argument.partition("=")
        if key in ("methods", "--methods"):
            if not value:
                raise UsageError("methods= names no folder: give one, or leave it out.")
            use_methods(Path(value).expanduser())
        else:
            rest.append(argument)
    return rest
