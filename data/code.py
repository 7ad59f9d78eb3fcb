"""Digests of code: syntax trees without docstrings and messages, so that only what computes counts."""

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from data.digest import of_json

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (ROOT / "models", ROOT / "data")
PRINTERS = {"print", "debug", "info", "warning", "warn", "error"}


def code_digest(modules: Iterable[str]) -> str:
    """Return a digest of modules and of all that they import from models/ and data/.

    The imports of a module that is not of this project are followed into its own folder as well. A module
    that has no file counts by its name alone.
    """
    waiting, codes = list(modules), dict[str, str]()
    files = [file for name in waiting if (file := module_file(name)) is not None]
    folders = [*LIBRARIES, *(file.parent for file in files if not file.is_relative_to(ROOT))]
    paths = [
        path for path in sys.path if any(folder.is_relative_to(Path(path).resolve()) for folder in folders)
    ]
    while waiting:
        name = waiting.pop()
        if name in codes:
            continue
        file = module_file(name)
        if file is None:
            codes[name] = ""
            continue
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        code, imports = parse(file.read_text("utf-8", "replace"), package)
        codes[name] = code + "".join(c.read_text() for c in sorted(file.parent.glob("*.[ch]")))
        waiting += [
            module
            for module in imports - codes.keys()
            if (other := module_file(module, paths)) and any(map(other.is_relative_to, folders))
        ]
    return digest([codes[name] for name in sorted(codes)])


def modules(settings: Any) -> list[str]:
    """Return the modules of all classes that settings name."""
    return sorted({str(target).rpartition(".")[0] for target in targets(settings)})


def targets(tree: Any) -> Iterator[Any]:
    """Yield every `_target_` in a tree of mappings and lists."""
    if isinstance(tree, dict):
        if tree.get("_target_") is not None:
            yield tree["_target_"]
        tree = list(tree.values())
    for branch in tree if isinstance(tree, list) else []:
        yield from targets(branch)


def digest(content: object) -> str:
    """Return eight hex digits that name a JSON value."""
    return of_json(content)[:8]


def module_file(module: str, paths: Sequence[str] | None = None) -> Path | None:
    """Return the file of a module without importing the module or its packages; None if it has no file."""
    name = module.replace(".", "/")
    for path in (str(ROOT), *(sys.path if paths is None else paths)):
        for file in (os.path.join(path, f"{name}.py"), os.path.join(path, name, "__init__.py")):
            if os.path.isfile(file):  # a path of pathlib takes ten times as long
                return Path(file).resolve()
    return None


@cache
def parse(text: str, package: str) -> tuple[str, set[str]]:
    """Return the syntax tree of a module without docstrings and messages, and the modules it may import."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text, set()
    imports: list[str] = []
    for node in ast.walk(tree):
        remove_messages(node)
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join(filter(None, [*above, node.module]))
            imports += [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
    return ast.dump(tree), set(filter(None, imports))


def remove_messages(node: ast.AST) -> None:
    """Remove docstrings, the text of errors, and the text of what is printed or logged from a node."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        node.body = [line for line in node.body if not is_text(line)]
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        node.exc = node.exc.func
    elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in PRINTERS:
        node.args, node.keywords = [], []


def is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
