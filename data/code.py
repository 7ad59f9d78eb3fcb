"""Digests of code: the syntax trees of whole packages. Comments and docstrings do not count."""

import ast
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from data.disk import of_content, of_json

ROOT = Path(__file__).resolve().parents[1]
OURS = ("conf", "data", "models", "sweeps", "train")
NOT_CODE = re.compile(r"(^|/)(\.\w|test_|__pycache__/|__main__\.py$|outputs/)")
"""The files of a folder that do not count: hidden, tests, compiled, commands that no run calls, results."""


def short_digest(content: Any) -> str:
    """Return eight hex digits that name a JSON value."""
    return of_json(content)[:8]


def code_digest(*places: Path) -> str:
    """Return a digest of files, and of all files in folders but those that are not code."""
    every = [(place, file) for place in places for file in (place, *place.rglob("*")) if file.is_file()]
    files = [(file.relative_to(place).as_posix(), file) for place, file in every]
    counted = [(name, file) for name, file in files if not NOT_CODE.search(name)]
    return short_digest(sorted((name, syntax_tree(file)) for name, file in counted))


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
    return ast.dump(tree)


def foreign_code(settings: Any) -> list[Path]:
    """Return the folders of foreign classes that settings name; of an installed class its file."""
    installed = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib"))
    result = set()
    for module in {str(target).rpartition(".")[0].replace(".", "/") for target in targets(settings)}:
        names = f"{module}.py", f"{module}/__init__.py"
        places = [path / name for path in (ROOT, *map(Path, sys.path)) for name in names]
        for file in [place.resolve() for place in places if place.is_file()][:1]:
            if not any(file.is_relative_to(ROOT / package) for package in OURS):
                result.add(file if any(map(file.is_relative_to, installed)) else file.parent)
    return sorted(result)


def targets(tree: Any) -> Iterator[Any]:
    """Yield every `_target_` in a tree of mappings and lists."""
    if isinstance(tree, dict):
        if tree.get("_target_") is not None:
            yield tree["_target_"]
        tree = list(tree.values())
    for branch in tree if isinstance(tree, list | tuple) else []:
        yield from targets(branch)
