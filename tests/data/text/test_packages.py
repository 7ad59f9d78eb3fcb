"""The source code of the installed packages as a corpus."""

from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from data.text import packages
from data.text.packages import SHORT, Packages, folder_digest, is_table


def corpus(*names: str) -> Packages:
    return Packages(name="python", packages=list(names), shortest=2000)


def test_files_are_sorted_and_hold_no_tests() -> None:
    sources = [source for source, _ in corpus("networkx", "sympy").files]
    assert sources == sorted(sources)
    assert "networkx/classes/graph.py" in sources
    assert "sympy/core/expr.py" in sources
    assert not [source for source in sources if "/tests/" in source or "/test_" in source]
    assert len(sources) > 1000


def test_the_standard_library_is_without_what_was_installed_beside_it() -> None:
    sources = [source for source, _ in corpus("stdlib").files]
    assert "stdlib/argparse.py" in sources
    assert not [source for source in sources if "site-packages" in source or "/test/" in source]


def test_tables_are_left_out_and_code_is_not() -> None:
    sympy = packages.installed_folder("sympy")
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
    assert [name for name, _ in packages.python_files(tmp_path)] == ["code.py"]


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that makes a wheel of a package, installs its own sources, and pins the wheel's."""

    def pin(wheel: str, installed: str | None, *, is_found: bool = True) -> str:
        folder, wheels = tmp_path / "wheel/mine", tmp_path / "wheels"
        for place, text in {folder: wheel, tmp_path / "site/mine": installed}.items():
            place.mkdir(parents=True)
            if text is None:
                place.rmdir()
                continue
            (place / "__init__.py").write_text(text * 200)
            (place / "version.py").write_text(place.parent.name)  # short, and other in each build
        wheels.mkdir()
        if is_found:
            with ZipFile(wheels / "mine-1.0-py3-none-any.whl", "w") as archive:
                for file in folder.iterdir():
                    archive.write(file, f"mine/{file.name}")
                about = "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n"
                for name, text in (
                    ("METADATA", about),
                    ("WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"),
                    ("RECORD", ""),
                ):
                    archive.writestr(f"mine-1.0.dist-info/{name}", text)
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
        return f"mine==1.0 sha256:{folder_digest(folder, SHORT)}"

    return pin


def test_what_is_installed_is_read_if_it_has_the_pinned_content(
    pinned: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = corpus(pinned("x = 1234567\n", "x = 1234567\n"))
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("it was downloaded"))
    assert [source for source, _ in chosen.files] == ["mine/__init__.py", "mine/version.py"]
    assert chosen.origin() == "Python source code of mine 1.0"


@pytest.mark.slow
@pytest.mark.parametrize("installed", ["y = 7654321\n", None], ids=["another version", "not installed"])
def test_the_corpus_does_not_change_with_what_is_installed(
    installed: str | None, pinned: Callable[..., str]
) -> None:
    """Pip finds the wheel, whatever index or folder the user has told it."""
    chosen = corpus(pinned("x = 1234567\n", installed))
    texts = {document.source: document.text for document in chosen.documents()}
    assert texts["mine/__init__.py"] == "x = 1234567\n" * 200
    assert chosen.contents() == {"packages": [chosen.packages[0].partition("sha256:")[2]]}


@pytest.mark.slow
@pytest.mark.parametrize("is_found", [True, False], ids=["another content", "no wheel"])
def test_a_content_that_is_not_to_be_had_is_refused(is_found: bool, pinned: Callable[..., str]) -> None:
    text = pinned("x = 1234567\n", "y = 7654321\n", is_found=is_found)
    text = text.replace("sha256:", "sha256:" + "0" * 8)[: len(text)]
    with pytest.raises(ValueError, match=r"of mine 1.0, .* Install mine==1.0, .*=\[mine\]") as caught:
        list(corpus(text).documents())
    assert ("that wheel has sha256" if is_found else "No matching distribution") in str(caught.value)


@pytest.mark.parametrize("text", ["os.path", "torch>=2", "torch==2.13.0 sha256:12"])
def test_what_is_neither_a_name_nor_a_pin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"data.packages names '{text}', which is neither"):
        corpus(text)


def test_the_default_corpus_is_pinned(settings: Callable[..., dict]) -> None:
    """Its sources are those that rows of archives name: sympy 1.14.0, networkx 3.6.1 and torch 2.13.0."""
    chosen = settings("python")
    source = Packages(**{key: value for key, value in chosen.items() if key != "_target_"})
    assert source.origin() == "Python source code of sympy 1.14.0, networkx 3.6.1, torch 2.13.0"
    assert all(package.digest for package in source.chosen)
