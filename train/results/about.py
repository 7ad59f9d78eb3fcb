"""`run.json`: the description of a run, checked when it is read, as it may come from anybody."""

import os
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from conf.choices import method_folders
from conf.errors import UsageError
from train.config.validation import Section, detail
from train.paths import ROOT
from train.results.rows import Identity
from train.results.run_folder import RUN


class Conditions(Section):
    """The conditions on which rounding depends, besides settings; None if unknown."""

    machine: str | None = None
    threads: int | None = None
    processes: int | None = None


class About(Identity):
    """A run: its settings, its machine and its versions."""

    settings: dict[str, Any]
    corpus_description: str
    passes: float | None = None  # over the training text; None if there is no text
    code: dict[str, str] = Field({})  # older versions did not write this, `threads` and `trained_with`
    command: str
    machine: str
    threads: int | None = None
    trained_with: Conditions = Conditions()
    started: str
    seconds: float
    training: str
    history: list[tuple[int, float]]  # step, loss
    diverged: str | None = None  # why the training ended before its last step


def about_run(folder: Path) -> About:
    """Return the content of `run.json`. Raise UsageError, with the file's name, if it does not describe a
    run."""
    file = folder / RUN
    try:
        return About.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise UsageError(f"{file} is damaged{detail(error)}: delete its folder and run again.") from None


def command_text() -> str:
    """Return the command line that repeats this run, with the folders of methods that are in use."""
    methods = [f"methods={folder}" for folder in method_folders()]
    words = [word for word in sys.argv[1:] if word not in ("train", "evaluate")]
    places = ("hydra.run.", "hydra.sweep.", "--config-dir=")  # where results go; a folder of methods
    words = [word for word in words if not word.startswith(places)]
    is_evaluation = any(word.startswith(("run=", "model=")) for word in words)
    command = "evaluate" if is_evaluation else "train"
    return shlex.join(["yardstick", command, *words, *methods])


def commit() -> str:
    """Return the commit of the code, with `+` if files were changed or added; empty if no repository has it,
    such as one that ignores the environment where it is installed."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}  # of a hook
    run = partial(
        subprocess.run, cwd=ROOT, env=plain, capture_output=True, encoding="utf-8", errors="replace"
    )
    try:
        if run(["git", "ls-files", "--error-unmatch", __file__]).returncode:
            return ""
        head = run(["git", "rev-parse", "--short=12", "HEAD"]).stdout.strip()
        status = run(["git", "status", "--porcelain", "-uall"]).stdout.splitlines()
    except OSError:
        return ""
    return head + "+" * any(not line.startswith("??") or line.endswith((".py", ".yaml")) for line in status)
