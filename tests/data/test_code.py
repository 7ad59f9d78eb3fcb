"""A digest of code changes with all that computes, and with nothing that only people read."""

from pathlib import Path

import pytest

from data.code import code_digest, foreign_code

MINE = '''"""Mine."""

from beside import slope  # what it needs


class Mine:
    """It is."""

    def forward(self):
        """Return its formula."""
        return 2 * slope + error(slope, 0.1)
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a module on Python's path, with files beside it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "tables").mkdir()
    for name in ("beside.py", "tables/slopes.csv", "test_mine.py", ".notes"):
        (tmp_path / name).write_text("slope = 1\n")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def test_the_code_of_a_method_is_every_file_of_its_folder(mine: Path) -> None:
    assert foreign_code({"_target_": "mine.Mine", "inner": [{"_target_": "models.gpt.GPT"}]}) == [mine.parent]
    (installed,) = foreign_code({"_target_": "torch.optim.SGD"})
    assert installed.name == "__init__.py"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("mine.py", "2 *", "3 *"),
        ("mine.py", "0.1", "50.0"),  # an argument of a call that is named as a message is
        ("beside.py", "1", "2"),
        ("tables/slopes.csv", "1", "2"),
    ],
)
def test_it_changes_with_what_computes(file: str, old: str, new: str, mine: Path) -> None:
    first, place = code_digest(mine.parent), mine.parent / file
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new))
    assert code_digest(mine.parent) != first
    place.write_text(text)
    assert code_digest(mine.parent) == first


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("mine.py", "what it needs", "of course"),
        ("mine.py", "Return its formula.", "Return\n\n        what the paper says."),
        ("mine.py", "\n\n\n", "\n"),
        ("test_mine.py", "1", "2"),
        (".notes", "1", "2"),
    ],
)
def test_it_does_not_change_with_what_only_people_read(file: str, old: str, new: str, mine: Path) -> None:
    first, place = code_digest(mine.parent), mine.parent / file
    assert old in place.read_text()
    place.write_text(place.read_text().replace(old, new))
    assert code_digest(mine.parent) == first


def test_a_file_that_is_added_or_renamed_counts(mine: Path) -> None:
    first = code_digest(mine.parent)
    other = mine.rename(mine.with_name("other.py"))
    assert code_digest(mine.parent) != first
    other.rename(mine)
    (mine.parent / "new.py").touch()
    assert code_digest(mine.parent) != first


def test_code_that_cannot_be_parsed_has_a_digest(mine: Path) -> None:
    mine.write_text("class Mine(:")
    first = code_digest(mine)
    mine.write_text("class Mine(::")
    assert code_digest(mine) != first
