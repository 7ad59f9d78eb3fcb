"""A digest of code changes with all that computes, and with nothing that only people read."""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import pytest

from data.digest import code_digest, foreign_code, tree_of

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
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # of other tests
    (tmp_path / "tables").mkdir()
    for name in ("beside.py", "tables/slopes.csv", "test_mine.py", ".notes"):
        (tmp_path / name).write_text("slope = 1\n")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def test_the_code_of_a_method_is_every_file_of_its_folder(mine: Path) -> None:
    settings = {"_target_": "mine.Mine", "inner": [{"_target_": "models.gpt.GPT"}]}
    assert foreign_code(settings) == [mine.parent, mine]
    (installed,) = foreign_code({"_target_": "torch.optim.SGD"})
    assert installed.name == "__init__.py"


@pytest.mark.parametrize("name", ["test_mine", "lab.methods.mine", "lab.methods"])
def test_a_module_counts_whatever_its_name_and_with_its_package(name: str, mine: Path) -> None:
    """A class may come from a file that is named as a test, or use the rest of its package."""
    package = mine.parent / "lab/methods"
    package.mkdir(parents=True)
    for file in ("lab/__init__.py", "lab/core.py", "lab/test_core.py", "lab/methods/__init__.py"):
        (mine.parent / file).write_text("slope = 1\n")
    (package / "mine.py").write_text(MINE)

    def digest() -> str:
        return code_digest(*foreign_code({"_target_": f"{name}.Mine"}))

    first, core = digest(), mine.parent / ("test_mine.py" if name == "test_mine" else "lab/core.py")
    (mine.parent / "lab/test_core.py").write_text("slope = 2\n")
    assert digest() == first
    core.write_text("slope = 2\n")
    assert digest() != first


def test_a_package_that_is_found_by_other_ways_than_a_path_counts(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pip installs one in place."""
    away = mine.parent / "away"
    away.mkdir()
    (away / "hidden.py").write_text(MINE)

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            return PathFinder.find_spec(name, [str(away)]) if name == "hidden" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert away / "hidden.py" in foreign_code({"_target_": "hidden.Mine"})


def test_a_digest_is_the_same_under_every_python() -> None:
    """Else the code of a run would seem to be edited, wherever Python is another one."""
    expected = (
        "Module(body=[FunctionDef(name='f', args=arguments(posonlyargs=[], args=[arg(arg='x')], "
        "kwonlyargs=[], kw_defaults=[], defaults=[]), body=[Return(value=List(elts=[], ctx=Load()))], "
        "decorator_list=[])], type_ignores=[])"
    )
    assert tree_of(b"def f(x):\n    return []\n") == expected


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
