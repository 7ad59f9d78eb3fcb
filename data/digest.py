"""Digests, in hex digits of a sha256: of files, of JSON values, and of code, by the syntax trees of whole
packages. Comments and docstrings do not count."""

import ast
import hashlib
import json
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OURS = ("conf", "data", "models", "sweeps", "train")
NOT_CODE = re.compile(r"(^|/)(\.\w|test_|__pycache__/|__main__\.py$|outputs/)")
"""The files of a folder that do not count: hidden, tests, compiled, commands that no run calls, results."""


def of_content(file: Path) -> str:
    """Return the digest of a file, which this process reads again only if it was written to since."""
    stat = file.stat()
    return of_unchanged(file, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@cache
def of_unchanged(file: Path, *stamp: int) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def of_json(content: object) -> str:
    """Return the digest of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def short_digest(content: object) -> str:
    """Return eight hex digits that name a JSON value."""
    return of_json(content)[:8]


def code_digest(*places: Path) -> str:
    """Return a digest of files, and of all files in folders but those that are not code."""
    every = [(place, file) for place in places for file in (place, *place.rglob("*")) if file.is_file()]
    counted = [(place, file) for place, file in every if is_code(file, place)]
    return short_digest(
        sorted((file.relative_to(place).as_posix(), syntax_tree(file)) for place, file in counted)
    )


def is_code(file: Path, place: Path) -> bool:
    """Return whether a file in a folder counts; what is named itself does."""
    return NOT_CODE.search(file.relative_to(place).as_posix()) is None


def syntax_tree(file: Path) -> str:
    """Return the syntax tree of a Python file without docstrings; of any other file its digest."""
    return tree_of(file.read_bytes()) if file.suffix == ".py" else of_content(file)


@cache
def tree_of(text: bytes) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text.decode(errors="replace")
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts = [n for n in node.body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
            node.body = [line for line in node.body if line not in texts]
    # as Python 3.11 writes it: later ones add a field, and leave out what is empty
    empty: dict[str, Any] = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return ast.dump(tree, **empty).replace(", type_params=[]", "")


def foreign_code(settings: Any) -> list[Path]:
    """Return the code of foreign classes that settings name: the module, what lies beside it, and the package
    that it is part of; of an installed class its file."""
    installed = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib"))
    result = set()
    for module in {str(target).rpartition(".")[0] for target in targets(settings)}:
        package, file = package_and_file(module)
        if file is not None and any(map(file.is_relative_to, installed)):
            result.add(file)
        elif file is not None:
            others = (other for other in package.rglob("*.py") if is_code(other, package))
            result |= {file, file.parent, *others}
    return sorted(result)


def package_and_file(module: str) -> tuple[Path, Path | None]:
    """Return the folder of a module's package, or the module if it has none, and its file; None if it is ours
    or does not exist. Nothing is imported."""
    top, *names = module.split(".")
    try:
        spec = None if top in OURS else find_spec(top)
    except ValueError:  # of no name, or of the program itself
        spec = None
    if spec is None:
        return ROOT, None
    package = Path((spec.submodule_search_locations or [spec.origin or ""])[0]).resolve()
    place = package.joinpath(*names)
    files = (place.with_name(f"{place.name}.py"), place / "__init__.py", place)
    return package, next((file for file in files if file.is_file()), None)


def targets(tree: Any) -> Iterator[Any]:
    """Yield every `_target_` in a tree of mappings and lists."""
    if isinstance(tree, dict):
        if tree.get("_target_") is not None:
            yield tree["_target_"]
        tree = list(tree.values())
    for branch in tree if isinstance(tree, list | tuple) else []:
        yield from targets(branch)
