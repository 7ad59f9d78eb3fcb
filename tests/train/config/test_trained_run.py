"""A run folder is data: the classes that it names are those of conf/, or nothing is built."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.composing import composed
from tests.train.conftest import finished_run
from train.config.trained_run import check_classes
from train.paths import CONF

PLANTED: list[Callable[[dict[str, Any], str], None]] = [
    lambda settings, code: settings["encoding"].update(
        frequencies=[{"_target_": "os.system", "command": code}]
    ),
    lambda settings, code: settings["encoding"].update(_target_="os.system"),
    lambda settings, code: settings["encoding"].update(_target_=["os.system"]),
    lambda settings, code: settings["encoding"].update(_target_="a_module_of_theirs.Encoding"),
    lambda settings, code: settings["encoding"].update(_target_=settings["data"]["_target_"]),
    lambda settings, code: settings["data"].update(
        parts={"first": [{"_target_": "os.system", "command": code}]}
    ),
]


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("module", ["train.evaluate", "train.diagnose"])
def test_a_run_folder_names_no_class_of_its_own(module, plant, small, tmp_path, mistake) -> None:
    marker = tmp_path / "executed"
    settings = composed(*small, "encoding=rope").model_dump(mode="json")
    plant(settings, f"touch {marker}")
    finished_run(tmp_path, settings)
    assert "a class that no file of conf/" in mistake(f"run={tmp_path}", module=module)
    assert not marker.exists()


@pytest.mark.parametrize("group", ["encoding", "data"])
def test_every_file_of_conf_may_be_named(group, small, tmp_path) -> None:
    for file in (CONF / group).glob("*.yaml"):
        chosen = [argument for argument in small if argument.startswith("outputs")]
        check_classes(composed(*chosen, f"{group}={file.stem}").model_dump(mode="json"), tmp_path)
