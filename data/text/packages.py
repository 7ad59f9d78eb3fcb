"""Source code of installed Python packages, read in place: real text without a download."""

import logging
import os
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from conf.errors import UsageError
from data.digest import of_content, of_json
from data.text.corpus import Corpus
from data.text.documents import Document

STANDARD_LIBRARY = "stdlib"
SKIPPED_FOLDERS = re.compile(
    r"_?tests?|_?tests?_.*|.*_tests?|testing|benchmarks?|__pycache__|site-packages|dist-packages"
)
SKIPPED_FILES = re.compile(r"test_.*|.*_tests?\.py|conftest\.py")
PINNED = re.compile(r"(?P<name>\w+)==(?P<version>\S+) sha256:(?P<digest>[0-9a-f]{64})")
SHORT = 2000  # bytes; shorter files are not pinned, because builds differ in them (torch/version.py)
WHEEL = "--platform=macosx_14_0_arm64 --python-version=3.11 --only-binary=:all:".split()  # torch's smallest
REPEATED, DIGITS = 0.65, 0.2  # shares above which a file is a generated table
NUMBER = re.compile(r"[\d.]+")
log = logging.getLogger(__name__)


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

    def __str__(self) -> str:
        if self.version or self.name == STANDARD_LIBRARY:
            return f"{self.name} {self.version or platform.python_version()}"
        try:
            return f"{self.name} {version(self.name)}"
        except PackageNotFoundError:
            return f"{self.name} of an unknown version"


@dataclass(frozen=True, kw_only=True)
class Packages(Corpus):
    """The .py files of packages, without tests and generated tables, which would flatter long contexts.

    A pinned package has the same files everywhere: those that are installed if they have the digest, else
    those of the wheel of that version, which pip downloads.
    """

    packages: list[str]

    def __post_init__(self) -> None:
        self.chosen  # noqa: B018  # a name that makes no sense is an error from the start

    @cached_property
    def chosen(self) -> list[Package]:
        return [Package.of(text) for text in self.packages]

    def documents(self) -> Iterator[Document]:
        for source, file in self.files:
            yield Document(file.read_text(encoding="utf-8", errors="replace"), source)

    def contents(self) -> dict[str, object]:
        """Return the digest of each package; of a pinned one it is in the settings, and nothing is read."""
        digests = [(item.digest or folder_digest(installed_folder(item.name))) for item in self.chosen]
        return {"packages": digests}

    def origin(self) -> str:
        return f"Python source code of {', '.join(map(str, self.chosen))}"

    def is_included(self, text: str) -> bool:
        return super().is_included(text) and not is_table(text)

    @cached_property
    def files(self) -> list[tuple[str, Path]]:
        """Return (path from the package's name on, path on this machine) of each file, sorted."""
        return sorted(
            (f"{package.name}/{path}", file)
            for package in self.chosen
            for path, file in python_files(self.folder(package))
        )

    @cached_property
    def wheels(self) -> TemporaryDirectory[str]:
        """Return a folder for downloads, which goes when this object goes."""
        return TemporaryDirectory()

    def folder(self, package: Package) -> Path:
        """Return the folder of a package. Raise UsageError if its pinned content is not to be had."""
        name, number, digest = package
        if not digest or (find_spec(name) and folder_digest(installed_folder(name), SHORT) == digest):
            return installed_folder(name)
        log.info("Downloading the sources of %s %s: what is installed has others.", name, number)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", *WHEEL]
        command += [f"--target={self.wheels.name}", f"{name}=={number}"]
        result = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
        if result.returncode == 0:
            found = folder_digest(Path(self.wheels.name, name), SHORT)
            if found == digest:
                return Path(self.wheels.name, name)
            reason = f"that wheel has sha256:{found}"
        else:
            reason = (result.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise UsageError(
            f"data={self.name} is the sources of {name} {number}, which are not installed and could not be "
            f"downloaded ({reason}). Install {name}=={number}, or read another corpus: "
            f"data.packages=[{','.join(package.name for package in self.chosen)}] takes what is installed."
        )


def is_table(text: str) -> bool:
    """Return whether most lines differ only in their numbers, or digits are a large part of the text."""
    lines = [line for line in map(str.strip, NUMBER.sub("0", text).splitlines()) if line]
    digits = sum(map(text.count, "0123456789"))
    return len(set(lines)) < (1 - REPEATED) * len(lines) or digits > DIGITS * len(text)


def folder_digest(folder: Path, least: int = 0) -> str:
    """Return a digest of the Python files in a folder that have at least so many bytes."""
    files = [item for item in python_files(folder) if item[1].stat().st_size >= least]
    return of_json(sorted((path, of_content(file)) for path, file in files))


def python_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (relative posix path, path) of the Python files in a folder, however deep."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not SKIPPED_FOLDERS.fullmatch(name)]
        for name in names:
            if name.endswith(".py") and not SKIPPED_FILES.fullmatch(name):
                file = Path(place, name)
                yield file.relative_to(folder).as_posix(), file


def installed_folder(package: str) -> Path:
    """Return the folder of an installed package, without importing it."""
    if package == STANDARD_LIBRARY:
        return Path(sysconfig.get_path("stdlib"))
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"The package '{package}' is not installed: install it or choose data=files.")
    return Path(spec.submodule_search_locations[0])
