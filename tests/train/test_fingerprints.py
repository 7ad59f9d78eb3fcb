"""Methods whose code was edited, or is new."""

from pathlib import Path

import pytest

from tests.composing import composed
from train import fingerprints
from train.cells import cell, finetuned_cell, training_cell
from train.compose import check_code
from train.fingerprints import changed, fingerprint, unverified, unverified_extensions
from train.paths import CONF
from train.sections import ExtensionConfig

MINE = '''"""Mine."""

from . import other_of_mine
from beside import slope  # what it needs


class Mine:
    """It is."""

    def forward(self):
        """Its formula."""
        if slope < 0:
            raise ValueError(
                "It must not fall."
            )
        return 2 * slope
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module on Python's path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("beside", "other_of_mine", "unrelated"):
        (tmp_path / f"{name}.py").write_text("slope = 1\n")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def test_what_changes_a_fingerprint(mine: Path) -> None:
    first = fingerprint("mine")
    for file, old, new in (
        ("mine", "2 *", "3 *"),
        ("mine", "< 0", "< 1"),
        ("beside", "1", "2"),
        ("other_of_mine", "1", "2"),
    ):
        text = (mine.with_name(f"{file}.py")).read_text()
        mine.with_name(f"{file}.py").write_text(text.replace(old, new))
        assert fingerprint("mine") != first, file
        mine.with_name(f"{file}.py").write_text(text)
        assert fingerprint("mine") == first


def test_what_does_not(mine: Path) -> None:
    first = fingerprint("mine")
    for old, new in (
        ("what it needs", "of course"),
        ("Its formula.", "As in\n\n        the paper."),
        ("It must not fall.", "Choose a slope that rises."),
        ("\n\n\n", "\n"),
    ):
        mine.write_text(MINE.replace(old, new))
        assert mine.read_text() != MINE
        assert fingerprint("mine") == first, old
    mine.with_name("unrelated.py").write_text("slope = 7\n")
    assert fingerprint("mine") == first
    assert fingerprint("nowhere.to.be.found") is None


def test_code_that_cannot_be_parsed_has_one_too(mine: Path) -> None:
    mine.write_text("class Mine(:")
    first = fingerprint("mine")
    mine.write_text("class Mine(::")
    assert first is not None
    assert fingerprint("mine") != first


def test_methods_of_this_repository_are_verified() -> None:
    for group in ("encoding", "extension", "data"):
        for file in sorted((CONF / group).glob("*.yaml")):
            if "_target_" in file.read_text():
                assert unverified(composed(f"{group}={file.stem}").model_dump()[group]) == {}, file


def test_an_edited_method_is_another_run(mine: Path, small: list[str]) -> None:
    config = composed(*small, "encoding=alibi", "encoding._target_=mine.Mine")
    before = cell(config), training_cell(config, "corpus", "32-true")
    mine.write_text(MINE.replace("2 *", "3 *"))
    after = cell(config), training_cell(config, "corpus", "32-true")
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_an_edited_extension_is_another_run(mine: Path, small: list[str]) -> None:
    settings = ExtensionConfig.of({"_target_": "mine.Mine", "finetune_steps": 2})
    config = composed(*small).model_copy(update={"extension": settings})
    before = cell(config), finetuned_cell("trained", "mine", settings)
    training = training_cell(config, "corpus", "32-true")
    mine.write_text(MINE.replace("2 *", "3 *"))
    after = cell(config), finetuned_cell("trained", "mine", settings)
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert training_cell(config, "corpus", "32-true") == training


def test_extensions_that_are_listed_count_as_their_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: list[str]
) -> None:
    config = composed(*small, "evaluation.extensions=[pi]")
    before = cell(config)
    assert unverified_extensions(["pi", "yarn", "none"]) == {}
    monkeypatch.setattr(fingerprints, "CONF", tmp_path)
    text = (CONF / "extension/pi.yaml").read_text()
    (tmp_path / "extension").mkdir()
    (tmp_path / "extension/pi.yaml").write_text(f"{text}\nversion: 2\n")
    assert cell(config) != before
    own = unverified_extensions(["pi"])["pi"]
    monkeypatch.setattr(fingerprints, "recorded", lambda: {"extension/pi": own})
    assert unverified_extensions(["pi"])["pi"] == 2, "a version that is verified is another one all the same"


def test_a_trained_run_is_evaluated_by_the_code_that_trained_it(mine: Path) -> None:
    settings = {"encoding": {"_target_": "mine.Mine"}, "data": {}, "names": {"encoding": "mine"}}
    trained = unverified(settings)
    check_code(settings, trained, Path("run"))
    mine.write_text(MINE.replace("Its formula.", "The same."))
    check_code(settings, trained, Path("run"))
    mine.write_text(MINE.replace("2 *", "3 *"))
    assert changed(trained, settings) == changed({}, settings) == ["mine"]
    with pytest.raises(ValueError, match=r"mine was edited since run was trained: undo that, or train"):
        check_code(settings, trained, Path("run"))


def test_what_was_verified_since_may_be_evaluated(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"_target_": "mine.Mine"}
    trained = unverified(settings)
    monkeypatch.setattr(fingerprints, "recorded", lambda: trained)
    assert unverified(settings) == {}
    assert changed(trained, settings) == []
    assert changed({"mine": "of an experiment"}, settings) == ["mine"]


def test_a_run_of_an_older_version_is_not_evaluated() -> None:
    settings = composed("encoding=rope").model_dump()
    settings["encoding"]["version"] = 7
    with pytest.raises(ValueError, match="run is of version 7 of rope, which is now 1: train it again"):
        check_code(settings, {}, Path("run"))
