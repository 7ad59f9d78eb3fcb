"""The record of a run names its own code."""

import subprocess
from pathlib import Path

import pytest

from train.results import about


def test_a_repository_around_the_code_that_does_not_have_it_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code is installed in an environment, which somebody keeps in a repository of their own."""
    for line in ("init -q", "-c user.name=a -c user.email=a@b commit -q --allow-empty -m a"):
        subprocess.run(["git", "-C", str(tmp_path), *line.split()], check=True)
    monkeypatch.setattr(about, "ROOT", tmp_path)
    assert about.commit() == ""
