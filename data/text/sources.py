"""The source code of Python packages: where it is installed, its digest, and the wheel that it comes from."""

import os
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from conf.errors import UsageError
from data.digest import of_content, of_json

STANDARD_LIBRARY = "stdlib"
SKIPPED_FOLDERS = re.compile(
    r"_?tests?|_?tests?_.*|.*_tests?|testing|benchmarks?|__pycache__|site-packages|dist-packages"
)
SKIPPED_FILES = re.compile(r"test_.*|.*_tests?\.py|conftest\.py")
PINNED = re.compile(r"(?P<name>\w+)==(?P<version>\S+) sha256:(?P<digest>[0-9a-f]{64})")
SHORT = 2000  # bytes; shorter files are not pinned, because builds differ in them (torch/version.py)
WHEEL = "--platform=macosx_14_0_arm64 --python-version=3.11 --only-binary=:all:".split()  # torch's smallest


class Package(NamedTuple):
    """A package, and the version and content that it is pinned to."""

    name: str
    version: str = ""
    digest: str = ""

    @classmethod
    def of(cls, text: str) -> "Package":
        """Return the package that a setting names: `sympy`, or `sympy==1.14.0 sha256:...`."""
        if found := PINNED.fullmatch(text):
            return cls(**found.groupdict())
        if not text.isidentifier():  # to find a part of a package would import the package
            raise UsageError(
                f"data.packages names '{text}', which is neither the name of a package nor of the form "
                "'name==version sha256:digest'."
            )
        return cls(text)


def download(package: Package, place: Path) -> str:
    """Return the folder of a package of the wheel that pip finds for its version."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *WHEEL, f"--dest={place}"]
    command += [f"{package.name}=={package.version}"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,) = place.glob(f"{package.name}-*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(
            place, [name for name in archive.namelist() if name.startswith(f"{package.name}/")]
        )
    wheel.unlink()
    return str(place / package.name)


def folder_digest(folder: str, least: int = 0) -> str:
    """Return a digest of the Python files in a folder that have at least so many bytes."""
    files = ((path, Path(file)) for path, file in python(folder))
    return of_json(sorted((path, of_content(file)) for path, file in files if file.stat().st_size >= least))


def python(folder: str, inside: str = "") -> Iterator[tuple[str, str]]:
    """Yield (relative posix path, path) of the Python files in a folder, however deep."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            if not SKIPPED_FOLDERS.fullmatch(entry.name):
                yield from python(entry.path, f"{inside}{entry.name}/")
        elif entry.name.endswith(".py") and not SKIPPED_FILES.fullmatch(entry.name):
            yield inside + entry.name, entry.path


def installed_folder(package: str) -> str:
    """Return the folder of an installed package, without importing it."""
    if package == STANDARD_LIBRARY:
        return sysconfig.get_path("stdlib")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"The package '{package}' is not installed: install it or choose data=files.")
    return spec.submodule_search_locations[0]


def version_of(package: str) -> str:
    if package == STANDARD_LIBRARY:
        return platform.python_version()
    try:
        return version(package)
    except PackageNotFoundError:
        return "of an unknown version"
