"""Digests of code: the syntax trees of Python files, and other files as they are."""

import ast
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from data.disk import of_content, of_json

ROOT = Path(__file__).resolve().parents[1]
NOT_CODE = {
    "__pycache__": "Python compiles it from the rest",
    "__main__.py": "a command of its own, which no run calls",
    "outputs": "what runs have written",
}
PACKAGES = ("conf", "data", "models", "sweeps", "train")


def code_digest(*places: Path) -> str:
    """Return a digest of files, and of all files in folders. Comments and docstrings do not count."""
    contents = [
        (file.relative_to(place).as_posix(), content(file))
        for place in places
        for file in (place, *place.rglob("*"))
        if file.is_file() and is_code(file.relative_to(place).parts)
    ]
    return digest(sorted(contents))


def is_code(parts: tuple[str, ...]) -> bool:
    """Return whether a file counts, by its path within a folder: neither hidden, nor a test, nor no code."""
    return not any(part in NOT_CODE or part.startswith((".", "test_")) for part in parts)


def content(file: Path) -> str:
    """Return the syntax tree of a Python file; of another file its digest."""
    return syntax_tree(file.read_text("utf-8", "replace")) if file.suffix == ".py" else of_content(file)


@cache
def syntax_tree(text: str) -> str:
    """Return the syntax tree of a module without docstrings; of what is no Python the text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not is_text(line)]
    return ast.dump(tree)


def is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def foreign_code(settings: Any) -> list[Path]:
    """Return the folders of the classes that settings name outside this project; of an installed class its
    file."""
    files = {module_file(module) for module in modules(settings)}
    return sorted(
        {
            file if is_installed(file) else file.parent
            for file in files
            if file is not None and is_foreign(file)
        }
    )


def is_installed(file: Path) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    return "site-packages" in file.parts or file.is_relative_to(Path(sysconfig.get_path("stdlib")).resolve())


def is_foreign(file: Path) -> bool:
    """Return whether a file is none of this project, though its folder may be inside."""
    return not any(file.is_relative_to(ROOT / package) for package in PACKAGES)


def modules(settings: Any) -> list[str]:
    """Return the modules of all classes that settings name."""
    return sorted({str(target).rpartition(".")[0] for target in targets(settings)})


def targets(tree: Any) -> Iterator[Any]:
    """Yield every `_target_` in a tree of mappings and lists."""
    if isinstance(tree, dict):
        if tree.get("_target_") is not None:
            yield tree["_target_"]
        tree = list(tree.values())
    for branch in tree if isinstance(tree, list | tuple) else []:
        yield from targets(branch)


def module_file(module: str) -> Path | None:
    """Return the file of a module without importing the module or its packages; None if it has no file."""
    name = module.replace(".", "/")
    for path in (ROOT, *map(Path, sys.path)):
        for file in (path / f"{name}.py", path / name / "__init__.py"):
            if file.is_file():
                return file.resolve()
    return None


def digest(content: object) -> str:
    """Return eight hex digits that name a JSON value."""
    return of_json(content)[:8]
