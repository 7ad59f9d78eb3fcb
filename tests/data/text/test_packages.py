"""The source code of the installed packages as a corpus."""

import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from data.text.packages import Packages, folder, is_table, python


def corpus(*packages: str) -> Packages:
    return Packages(name="python", packages=list(packages), shortest=2000)


def test_files_are_sorted_and_hold_no_tests() -> None:
    sources = [source for source, _ in corpus("networkx", "sympy").files()]
    assert sources == sorted(sources)
    assert "networkx/classes/graph.py" in sources
    assert "sympy/core/expr.py" in sources
    assert not [source for source in sources if "/tests/" in source or "/test_" in source]
    assert len(sources) > 1000


def test_the_standard_library_is_without_what_was_installed_beside_it() -> None:
    sources = [source for source, _ in corpus("stdlib").files()]
    assert "stdlib/argparse.py" in sources
    assert not [source for source in sources if "site-packages" in source or "/test/" in source]


def test_documents_are_the_files() -> None:
    document = next(d for d in corpus("stdlib").documents() if d.source == "stdlib/argparse.py")
    assert document.text == (Path(sysconfig.get_path("stdlib")) / "argparse.py").read_text()
    assert document.held_out is None


def test_tables_are_left_out_and_code_is_not() -> None:
    sympy = Path(folder("sympy"))
    assert is_table("\n".join(f"    {n}: {n * n}," for n in range(100)))
    assert is_table("".join(f"x{n} = 'a{n}'\n" for n in range(100)))
    assert is_table((sympy / "polys/numberfields/resolvent_lookup.py").read_text())
    assert not is_table((sympy / "core/expr.py").read_text())
    assert not corpus("sympy").is_included("x = 1\n")


@pytest.mark.parametrize("name", ["no_such_package", "this"])
def test_a_missing_package_is_reported(name: str) -> None:
    with pytest.raises(ValueError, match=f"The package '{name}' is not installed"):
        list(corpus(name).documents())


def test_a_package_is_not_imported_and_its_content_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_package"
    (package / "tests").mkdir(parents=True)
    for name in ("__init__.py", "code.py", "tests/test_code.py"):
        (package / name).write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    first = corpus("some_package").contents()
    (package / "tests/test_code.py").write_text("x = 1234\n")
    assert corpus("some_package").contents() == first
    (package / "code.py").write_text("x = 1234\n")
    assert corpus("some_package").contents() != first
    assert corpus("some_package").origin() == "Python source code of some_package of an unknown version"


def test_a_loop_of_links_ends(tmp_path: Path, prose: Callable[[int, int], str]) -> None:
    (tmp_path / "code.py").write_text(prose(10, 0))
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [name for name, _ in python(str(tmp_path))] == ["code.py"]
