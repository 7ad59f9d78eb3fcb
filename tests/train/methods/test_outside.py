"""A method outside the repository, in the folder that `yardstick new` writes, works like ours."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.train.conftest import FEW, SMALL, call
from train.methods.new import write_method
from train.paths import ROOT


@pytest.fixture(scope="module")
def methods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside") / "methods"
    call("my_bias", f"to={folder}", module="train.methods.new")
    return folder


def test_a_full_disk_leaves_no_part_of_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which the next attempt would say that it exists."""

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write_method("my_bias", tmp_path)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(write_method("my_bias", tmp_path)) == 3


@pytest.mark.slow
def test_it_is_trained_evaluated_reproduced_and_compared(
    methods: Path, small: list[str], tmp_path: Path
) -> None:
    line = [*small, *FEW, "encoding=glob([my*,nope])", f"hydra.sweep.dir={tmp_path}/sweep", "-m"]
    subprocess.run([sys.executable, "-m", "train", f"methods={methods}", *line], cwd=ROOT, check=True)
    table = (tmp_path / "sweep/table.txt").read_text()
    assert "my_bias" in table
    assert "nope" in table
    (run,) = (tmp_path / "sweep").glob("my_bias-*")
    assert f"methods={methods}" in (run / "run.json").read_text()
    refused = call(f"run={run}", module="train.evaluate", check=False)
    assert refused.returncode == 2
    assert "names my_bias.MyBias in its encoding, a class that no file of conf" in refused.stderr
    call(f"run={run}", f"methods={methods}", "evaluation.extensions=[log_n]", module="train.evaluate")
    call(f"--config-dir={methods}", f"run={run}", "sequences=1", module="train.diagnose")
    printed = call(f"run={run}", f"methods={methods}", module="train.reproduce").stdout
    assert "rows are equal, bit for bit." in printed
    call(f"run={run}", f"methods={methods}", "prompt=import", "tokens=2", module="train.inference.sample")


def test_its_test_passes(methods: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(methods)], cwd=ROOT, capture_output=True, text=True
    )
    assert "1 passed" in done.stdout, done.stdout


def test_a_name_that_cannot_be_taken(methods: Path) -> None:
    for name, sentence in (
        ("alibi", "'alibi' is the name of an encoding"),
        ("random", "or of an installed module"),
        ("MyBias", "should be a name such as my_bias"),
        ("class", "should be a name such as my_bias"),
        ("my_bias", "exists already"),
    ):
        assert sentence in call(name, f"to={methods}", module="train.methods.new", check=False).stderr


def test_a_folder_that_cannot_be_used(methods: Path, tmp_path: Path) -> None:
    taken = tmp_path / "encoding/alibi.yaml"
    for folder, sentence in (
        (tmp_path / "none", "has no <group>/<name>.yaml, such as encoding/<name>.yaml"),
        (tmp_path, "has the name of a file of conf/"),
    ):
        taken.parent.mkdir(exist_ok=True)
        taken.touch()
        assert sentence in call(f"methods={folder}", "encoding=alibi", *SMALL, check=False).stderr


def test_two_folders_of_one_name(methods: Path, tmp_path: Path) -> None:
    """The settings of the one would otherwise go with the module of the other."""
    call("other", f"to={tmp_path}", module="train.methods.new")
    (tmp_path / "other.py").rename(tmp_path / "my_bias.py")
    both = f"methods={methods}", f"methods={tmp_path}"
    done = call(*both, "encoding=alibi", *SMALL, check=False)
    assert f"{tmp_path}/my_bias.py has the name of a file of {methods}: choose another" in done.stderr
