"""`yardstick` is the one name that outsiders import, whatever their own modules are called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from train.paths import ROOT


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a user whose modules have the names of this project's folders."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "data").mkdir()
    for file in ("train.py", "models.py", "data/__init__.py", "helper.py"):
        (folder / file).write_text("mine = True\n")
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_it_is_imported_beside_modules_of_the_same_names(project: Path) -> None:
    names = "Effect, Encoding, evaluate, load"
    text = f"from yardstick import {names}; import helper; print(load.__module__, helper.mine)"
    done = python(project, "-c", text)
    assert done.stdout == "train.load True\n", done.stderr


def test_the_command_runs_beside_them(project: Path) -> None:
    done = python(project, "-m", "yardstick", "encoding=rop")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("yardstick: There is no encoding 'rop'. Did you mean 'rope'?")


def test_a_module_in_the_way_is_named(project: Path) -> None:
    done = python(project, "-c", "import models; import yardstick")
    reason = "was imported as 'models', a name that Yardstick needs: import yardstick first, or rename"
    assert done.stderr.splitlines()[-1] == f"ImportError: {project}/models.py {reason} that module."


def test_another_name_is_not_there() -> None:
    import yardstick

    assert set(yardstick.__all__) == {name for name in yardstick.__all__ if getattr(yardstick, name)}
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        yardstick.lode  # noqa: B018
