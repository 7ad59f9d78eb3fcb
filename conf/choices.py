"""All that can be chosen: the files of `conf/`, and of the folders that `methods=<folder>` names.

Such a folder holds modules, and the YAML files of their methods as `conf/` does: `encoding/my_bias.yaml`.
"""

import os
import sys
from collections.abc import Iterator
from copy import deepcopy
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
    folders = [folder / group for folder in (CONF, *method_folders()) if (folder / group).is_dir()]
    found = [(name, folder / name) for folder in folders for name in os.listdir(folder)]
    return dict(sorted((name[:-5], file) for name, file in found if name.endswith(".yaml")))


def content(group: str, name: str) -> dict[str, Any]:
    """Return the content of a file of a group, over that of the files of the group in its `defaults`."""
    return deepcopy(merged(*with_defaults(name, files(group))))


def with_defaults(name: str, known: dict[str, Path]) -> Iterator[tuple[Path, int]]:
    """Yield the files in the `defaults` of a file, and then the file, each with the time of its change."""
    version = known[name], known[name].stat().st_mtime_ns
    for base in parse(*version).get("defaults", []):
        if isinstance(base, str) and base in known:  # no other packages
            yield from with_defaults(base, known)
    yield version


@cache
def merged(*versions: tuple[Path, int]) -> dict[str, Any]:
    settings = OmegaConf.merge(*(parse(*version) for version in versions))
    settings.pop("defaults", None)
    return cast(dict[str, Any], OmegaConf.to_container(settings, resolve=True))


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
