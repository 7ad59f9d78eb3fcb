"""Source code of installed Python packages, read in place: real text without a download."""

import logging
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conf.errors import UsageError
from data.text.corpus import Corpus
from data.text.documents import Document
from data.text.sources import SHORT, Package, download, folder_digest, installed_folder, python, version_of

REPEATED, DIGITS = 0.65, 0.2  # shares above which a file is a generated table
NUMBER = re.compile(r"[\d.]+")
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Packages(Corpus):
    """The .py files of packages, without tests and generated tables, which would flatter long contexts.

    A pinned package has the same files everywhere: those that are installed if they have the digest, else
    those of the wheel of that version, which pip downloads.
    """

    packages: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        for text in self.packages:
            Package.of(text)

    @cached_property
    def chosen(self) -> list[Package]:
        return [Package.of(text) for text in self.packages]

    def documents(self) -> Iterator[Document]:
        for source, file in self.files:
            yield Document(Path(file).read_text(encoding="utf-8", errors="replace"), source)

    def contents(self) -> dict[str, Any]:
        """Return the digest of each package; of a pinned one it is in the settings, and nothing is read."""
        return {
            "packages": [
                package.digest or folder_digest(installed_folder(package.name)) for package in self.chosen
            ]
        }

    def origin(self) -> str:
        names = [f"{package.name} {package.version or version_of(package.name)}" for package in self.chosen]
        return f"Python source code of {', '.join(names)}"

    def is_included(self, text: str) -> bool:
        return super().is_included(text) and not is_table(text)

    @cached_property
    def files(self) -> list[tuple[str, str]]:
        """Return (path from the package's name on, path on this machine) of each file, sorted."""
        folders = ((package.name, self.folder(package)) for package in self.chosen)
        found = ((name, *pair) for name, root in folders for pair in python(root))
        return sorted((f"{name}/{path}", file) for name, path, file in found)

    @cached_property
    def wheels(self) -> TemporaryDirectory[str]:
        """Return a folder for downloads, which goes when this object goes."""
        return TemporaryDirectory()

    def folder(self, package: Package) -> str:
        """Return the folder of a package. Raise UsageError if its pinned content is not to be had."""
        is_installed = find_spec(package.name) is not None
        if not package.digest or (
            is_installed and folder_digest(installed_folder(package.name), SHORT) == package.digest
        ):
            return installed_folder(package.name)
        log.info("Downloading the sources of %s %s: what is installed has others.", *package[:2])
        try:
            found = download(package, Path(self.wheels.name))
        except subprocess.CalledProcessError as error:
            reason = (error.stderr.strip().splitlines() or ["pip failed"])[-1]
        else:
            if folder_digest(found, SHORT) == package.digest:
                return found
            reason = f"that wheel has sha256:{folder_digest(found, SHORT)}"
        raise UsageError(
            f"data={self.name} is the sources of {package.name} {package.version}, which are not installed "
            f"and could not be downloaded ({reason}). Install {package.name}=={package.version}, or read "
            f"another corpus: data.packages=[{','.join(package.name for package in self.chosen)}] takes what "
            "is installed."
        )


def is_table(text: str) -> bool:
    """Return whether most lines differ only in their numbers, or digits are a large part of the text."""
    lines = [line for line in map(str.strip, NUMBER.sub("0", text).splitlines()) if line]
    digits = sum(map(text.count, "0123456789"))
    return len(set(lines)) < (1 - REPEATED) * len(lines) or digits > DIGITS * len(text)
