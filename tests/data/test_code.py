"""A digest of code changes with the result of the code, and with nothing else."""

from pathlib import Path

import pytest

from data.code import code_digest

MINE = '''"""Mine."""

from . import other_of_mine
from beside import slope  # what it needs


class Mine:
    """It is."""

    def forward(self):
        """Return its formula."""
        print("Of course.")
        if slope < 0:
            raise ValueError(
                "It must not fall."
            )
        return 2 * slope
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a module on Python's path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("beside", "other_of_mine", "unrelated"):
        (tmp_path / f"{name}.py").write_text("slope = 1\n")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [("mine", "2 *", "3 *"), ("mine", "< 0", "< 1"), ("beside", "1", "2"), ("other_of_mine", "1", "2")],
)
def test_it_changes_with_the_code_and_what_that_imports(module: str, old: str, new: str, mine: Path) -> None:
    first, file = code_digest(["mine"]), mine.with_name(f"{module}.py")
    text = file.read_text()
    file.write_text(text.replace(old, new))
    assert code_digest(["mine"]) != first
    file.write_text(text)
    assert code_digest(["mine"]) == first


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("what it needs", "of course"),
        ("Return its formula.", "Return\n\n        what the paper says."),
        ("It must not fall.", "Choose a slope that rises."),
        ("Of course.", "Certainly."),
        ("\n\n\n", "\n"),
    ],
)
def test_it_does_not_change_with_what_only_people_read(old: str, new: str, mine: Path) -> None:
    first = code_digest(["mine"])
    assert old in MINE
    mine.write_text(MINE.replace(old, new))
    mine.with_name("unrelated.py").write_text("slope = 7\n")
    assert code_digest(["mine"]) == first


def test_code_that_cannot_be_parsed_or_is_not_there_has_a_digest(mine: Path) -> None:
    mine.write_text("class Mine(:")
    first = code_digest(["mine"])
    mine.write_text("class Mine(::")
    assert len({first, code_digest(["mine"]), code_digest(["nowhere.to.be.found"])}) == 3
