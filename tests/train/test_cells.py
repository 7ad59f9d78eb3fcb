"""What names a result: everything that determines it, and nothing else."""

from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from tests.composing import composed
from train.cells import cell, paths, stamps, training_cell
from train.compose import register
from train.paths import CONF
from train.versions import EVALUATION, TRAINING


def test_what_changes_the_result_changes_its_name(small: list[str]) -> None:
    plain_cell = cell(composed(*small))
    for override in (
        "seed=1",
        "encoding=alibi",
        "encoding.base=500",
        "extension=pi",
        "trainer.max_steps=7",
        "batch=12",
    ):
        assert cell(composed(*small, override)) != plain_cell, override


def test_what_does_not_change_the_result_does_not_change_its_name(small: list[str]) -> None:
    plain_cell = cell(composed(*small))
    for override in (
        "outputs=elsewhere",
        "trainer.devices=2",
        "jobs=1",
        "wandb.project=other",
        "trainer.threads=1",
    ):
        assert cell(composed(*small, override)) == plain_cell, override


def test_a_training_is_the_same_under_any_extension_and_evaluation(small: list[str]) -> None:
    def of(*more: str) -> str:
        return training_cell(composed(*small, *more), "corpus", "32-true")

    assert of() == of("extension=yarn") == of("evaluation.windows=9") != of("seed=1")
    assert training_cell(composed(*small), "other", "32-true") != of()


def test_changed_text_is_another_run(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    before = stamps(str(tmp_path))
    (tmp_path / "a.txt").write_text("three")
    assert before != stamps(str(tmp_path))
    assert list(paths({"text": {"path": "a"}, "path": None, "task": {"of": {"path": "b"}}})) == ["a", "b"]


def test_a_version_that_is_raised_makes_another_run(
    small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = composed(*small)

    def names() -> tuple[str, str]:
        return cell(config), training_cell(config, "corpus", "32-true")

    result, training = names()
    monkeypatch.setitem(EVALUATION, "text", 2)
    assert names()[0] != result
    assert names()[1] == training
    monkeypatch.setitem(TRAINING, "loss", 2)
    assert names()[1] != training


def test_only_folders_of_conf_are_groups() -> None:
    """A folder of the project that bears a setting's name, such as outputs/, would hide that setting."""
    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        found = GlobalHydra.instance().config_loader().list_groups("")
    groups = {folder.name for folder in CONF.iterdir() if any(folder.glob("*.yaml"))}
    assert set(found) - {"hydra"} == groups | {"sweeps"}
