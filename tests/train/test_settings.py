"""What names a result: everything that determines it, and nothing else."""

from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from train.settings import CONF, cell, paths, plain, register, sources, stamps, training_cell


def settings_of(overrides: list[str]) -> dict[str, Any]:
    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return plain(compose("config", overrides, return_hydra_config=True))


def test_what_changes_the_result_changes_its_name(small: list[str]) -> None:
    plain_cell = cell(settings_of(small))
    for override in (
        "seed=1",
        "encoding=alibi",
        "encoding.base=500",
        "extension=pi",
        "trainer.max_steps=7",
        "batch=12",
    ):
        assert cell(settings_of([*small, override])) != plain_cell, override


def test_what_does_not_change_the_result_does_not_change_its_name(small: list[str]) -> None:
    plain_cell = cell(settings_of(small))
    for override in (
        "outputs=elsewhere",
        "trainer.devices=2",
        "jobs=1",
        "wandb.project=other",
        "trainer.threads=1",
    ):
        assert cell(settings_of([*small, override])) == plain_cell, override


def test_a_training_is_the_same_under_any_extension_and_evaluation(small: list[str]) -> None:
    def of(*more: str) -> str:
        return training_cell(settings_of([*small, *more]), "corpus", "32-true")

    assert of() == of("extension=yarn") == of("evaluation.windows=9") != of("seed=1")
    assert training_cell(settings_of(small), "other", "32-true") != of()


def test_the_code_of_one_encoding_does_not_touch_another() -> None:
    assert sources("models.encodings.alibi") != sources("models.encodings.rope")
    assert sources("train.fit") == sources("train.fit")


def test_changed_text_is_another_run(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    before = stamps(str(tmp_path))
    (tmp_path / "a.txt").write_text("three")
    assert before != stamps(str(tmp_path))
    assert stamps(None) == []
    assert paths({"text": {"path": "a"}, "path": None, "task": {"of": {"path": "b"}}}) == ["a", "b"]


def test_only_folders_of_conf_are_groups() -> None:
    """A folder of the project that bears a setting's name, such as outputs/, would hide that setting."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        found = GlobalHydra.instance().config_loader().list_groups("")
    assert set(found) - {"hydra"} == {folder.name for folder in CONF.iterdir() if any(folder.glob("*.yaml"))}
