"""requirements.lock pins the versions of constraints.txt, every archive by its hash."""

import re

from train.paths import ROOT


def versions(file: str) -> dict[str, str]:
    found = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;]+)", (ROOT / file).read_text(), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def test_lock_has_every_version_of_the_constraints() -> None:
    """If this fails: make lock."""
    locked = versions("requirements.lock")
    assert {name: locked.get(name) for name in versions("constraints.txt")} == versions("constraints.txt")


def test_every_archive_has_a_hash() -> None:
    packages = re.split(r"^(?=\S)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)[1:]
    assert len(packages) > 100
    assert [package.split()[0] for package in packages if "--hash=sha256:" not in package] == []
