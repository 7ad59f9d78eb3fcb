"""Source code of installed Python packages, read in place: real text without a download."""

import os
import platform
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from data.digest import of_content, of_json
from data.text.corpus import Corpus
from data.text.documents import Document

STANDARD_LIBRARY = "stdlib"
SKIPPED_FOLDERS = re.compile(
    r"_?tests?|_?tests?_.*|.*_tests?|testing|benchmarks?|__pycache__|site-packages|dist-packages"
)
SKIPPED_FILES = re.compile(r"test_.*|.*_tests?\.py|conftest\.py")
REPEATED, DIGITS = 0.65, 0.2  # shares above which a file is a generated table
NUMBER = re.compile(r"[\d.]+")


@dataclass(frozen=True, kw_only=True)
class Packages(Corpus):
    """The .py files of packages, without tests and generated tables, which would flatter long contexts."""

    packages: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        for package in self.packages:
            if not package.isidentifier():  # to find a part of a package would import the package
                raise UsageError(f"data.packages names '{package}', which is not the name of a package.")

    def documents(self) -> Iterator[Document]:
        for source, file in self.files():
            yield Document(Path(file).read_text(encoding="utf-8", errors="replace"), source)

    def contents(self) -> dict[str, Any]:
        files = [(source, of_content(Path(file))) for source, file in self.files()]
        return {"packages": of_json([self.versions(), files])}

    def origin(self) -> str:
        return f"Python source code of {', '.join(self.versions())}"

    def is_included(self, text: str) -> bool:
        return super().is_included(text) and not is_table(text)

    def files(self) -> list[tuple[str, str]]:
        """Return (path from the package's name on, path on this machine) of each file, sorted."""
        files = ((name, *pair) for name in self.packages for pair in python(folder(name)))
        return sorted((f"{name}/{path}", file) for name, path, file in files)

    def versions(self) -> list[str]:
        return [f"{name} {version_of(name)}" for name in self.packages]


def python(folder: str, inside: str = "") -> Iterator[tuple[str, str]]:
    """Yield (relative posix path, path) of the Python files in a folder, however deep."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            if not SKIPPED_FOLDERS.fullmatch(entry.name):
                yield from python(entry.path, f"{inside}{entry.name}/")
        elif entry.name.endswith(".py") and not SKIPPED_FILES.fullmatch(entry.name):
            yield inside + entry.name, entry.path


def folder(package: str) -> str:
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


def is_table(text: str) -> bool:
    """Return whether most lines differ only in their numbers, or digits are a large part of the text."""
    lines = [line for line in map(str.strip, NUMBER.sub("0", text).splitlines()) if line]
    digits = sum(map(text.count, "0123456789"))
    return len(set(lines)) < (1 - REPEATED) * len(lines) or digits > DIGITS * len(text)
