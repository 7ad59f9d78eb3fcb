"""The record of a run names its own code."""

import subprocess
from pathlib import Path

import pytest

from train.results import about


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return a repository of something else."""
    for line in ("init -q", "-c user.name=a -c user.email=a@b commit -q --allow-empty -m a"):
        subprocess.run(["git", "-C", str(tmp_path), *line.split()], check=True)
    return tmp_path


def test_a_repository_around_the_code_that_does_not_have_it_is_not_named(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code is installed in an environment, which somebody keeps in a repository of their own."""
    monkeypatch.setattr(about, "ROOT", other)
    assert about.commit() == ""


def test_the_repository_that_a_hook_names_is_not_that_of_the_code(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = about.commit()
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert about.commit() == before
