"""A run folder is data: its classes are those of conf/, or nothing is built."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from tests.composing import composed
from tests.train.conftest import finished_run
from train.config.trained_run import check_classes
from train.paths import CONF
from train.results.run_folder import RUN, write_done

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
    lambda settings, code: settings["trainer"].update(callbacks={"a": {"_target_": "os.system"}}),
]


@pytest.mark.parametrize("plant", PLANTED)
def test_a_run_folder_names_no_class_of_its_own(plant, small, tmp_path, mistake) -> None:
    marker = tmp_path / "executed"
    settings = composed(*small, "encoding=rope").model_dump(mode="json")
    plant(settings, f"touch {marker}")
    finished_run(tmp_path, settings)
    assert "a class that no file of conf/" in mistake(f"run={tmp_path}", module="train.evaluate")
    assert not marker.exists()


DEEP = b'{"a":' * 100_000


DAMAGED: list[tuple[Any, str]] = [
    *((content, "run.json is damaged: delete its folder") for content in (b"", b"null", b"[1]", b"\xff")),
    (b"{}", "run.json is damaged (run: missing)"),
    (DEEP, "run.json is damaged: delete its folder"),
    (b"9" * 10_000, "run.json is damaged: delete its folder"),
    ({"settings": None}, "run.json is damaged (settings: None)"),
    ({"seed": "\x1b[2J"}, r"run.json is damaged (seed: '\x1b[2J')"),
    ({"settings": {}}, "run.json does not fit this version: seed must be given"),
    ({"seed": True}, "run.json is damaged (seed: True)"),
    ({"history": [1]}, "run.json is damaged (history: 1)"),
    ({"code": ["x"]}, "run.json is damaged (code: ['x'])"),
    ({"trained_with": None}, "run.json is damaged (trained_with: None)"),
    ({"esc\x1b[2J": 1}, "run.json is damaged (esc\\x1b[2J: 1)"),
]
EVALUATED = [("train.evaluate", *pair) for pair in DAMAGED]


@pytest.mark.parametrize(
    ("module", "content", "expected"),
    [*EVALUATED, ("train.diagnose", *DAMAGED[0]), ("train.reproduce", *DAMAGED[0])],
)
def test_a_run_that_is_described_otherwise_is_refused(
    module: str, content: Any, expected: str, small: list[str], tmp_path: Path, mistake
) -> None:
    changed = content if isinstance(content, dict) else {}
    folder = finished_run(tmp_path, **{"settings": composed(*small).model_dump(mode="json")} | changed)
    if isinstance(content, bytes):
        (folder / RUN).write_bytes(content)
        write_done(folder, "01234567")
    assert expected in mistake(f"run={folder}", module=module)


@pytest.mark.parametrize("group", ["encoding", "extension", "data", "optimizer"])
def test_every_file_of_conf_may_be_named(group: str, tmp_path: Path) -> None:
    check_classes({group: [OmegaConf.load(file) for file in (CONF / group).glob("*.yaml")]}, tmp_path)
