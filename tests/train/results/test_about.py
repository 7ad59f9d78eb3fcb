"""The record of a run names its own code."""

import shlex
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("-m hydra/sweeper=optuna hydra.sweeper.n_trials=3 hydra.sweep.dir=/a",
         "train -m hydra/sweeper=optuna hydra.sweeper.n_trials=3"),
        ("train 'data.path=/a b/c' evaluation.lengths=[1,2] wandb.name=null hydra.run.dir=/a",
         "train 'data.path=/a b/c' 'evaluation.lengths=[1,2]' wandb.name=null"),
        ("evaluate run=train extension=pi", "evaluate run=train extension=pi"),
        ("model=a extension=yarn", "evaluate model=a extension=yarn"),
    ],
)  # fmt: skip
def test_the_command_of_a_run_repeats_it(words: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search keeps the number of its trials; where results went is left out."""
    monkeypatch.setattr(sys, "argv", ["yardstick", *shlex.split(words)])
    assert about.command_text() == f"yardstick {text}"


def test_the_repository_that_a_hook_names_is_not_that_of_the_code(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = about.commit()
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert about.commit() == before
