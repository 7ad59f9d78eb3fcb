"""Fingerprints of methods whose code is not as golden/ has verified it.

`version`, in the file of a method in conf/, says when its results change; golden/code.txt has the fingerprint
of the code that was last verified to give them. What is new or was edited since has its fingerprint in the
cells of its runs, so that the same command never takes the results of an older formula for those of this one.
"""

import ast
import sys
import tokenize
from collections.abc import Iterable
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf

from data.digest import of_json
from train.paths import CONF, ROOT
from train.trust import targets

RECORD = ROOT / "golden" / "code.txt"


def unverified(settings: Any) -> dict[str, str]:
    """The fingerprints, by module, of all classes in settings whose code is not as recorded."""
    known, now = recorded(), fingerprints(settings)
    return {module: own for module, own in now.items() if known.get(module) != own}


def unverified_extensions(names: Iterable[str]) -> dict[str, Any]:
    """What the results of extensions depend on as their files are, beyond their verified first version."""
    known, result = recorded(), {}
    for name in names:
        content = extension_content(name)
        if known.get(f"extension/{name}") != (own := digest(content)):
            result[name] = own
        elif content.get("version", 1) != 1:
            result[name] = content["version"]
        result |= unverified(content)
    return result


def extension_content(name: str) -> dict[str, Any]:
    """The content of `conf/extension/<name>.yaml`."""
    file = CONF / "extension" / f"{name}.yaml"
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(file))) if file.exists() else {}


def changed(since: dict[str, str], settings: Any) -> list[str]:
    """The modules of classes in settings whose code is not that which was `unverified` once."""
    now = fingerprints(settings)
    return [module for module in since | unverified(settings) if now.get(module) != since.get(module)]


def recorded() -> dict[str, str]:
    """What `make golden` wrote: fingerprints, and what each is of."""
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    return {module: own for own, _, module in (line.partition("  ") for line in lines)}


def fingerprints(settings: Any) -> dict[str, str]:
    """Of every module that a `_target_` in settings names."""
    every = {str(target).rpartition(".")[0] for target in targets(settings)}
    return {module: own for module in sorted(every) if (own := fingerprint(module)) is not None}


def fingerprint(module: str) -> str | None:
    """Of a module and all that it imports from its own folder; None where it has no file."""
    first = located(module)
    if first is None:
        return None
    codes, waiting = {}, [(module, first)]
    while waiting:
        name, file = waiting.pop()
        code, imports = essence(file.read_text("utf-8", "replace"), name.rpartition(".")[0])
        codes[file] = code
        beside = ((other, first.with_name(f"{other.rpartition('.')[2]}.py")) for other in imports)
        known = (pair for pair in beside if pair[1] not in codes and pair[1].is_file())
        waiting += [(other, at) for other, at in known if located(other) == at]
    return digest([codes[file] for file in sorted(codes)])


def located(module: str) -> Path | None:
    """The file of a module, without importing the packages that it is in."""
    parts = module.split(".")
    files = (Path(top, *parts).with_suffix(".py") for top in (str(ROOT), *sys.path))
    return next((file.resolve() for file in files if file.is_file()), None)


@cache
def essence(text: str, package: str) -> tuple[str, list[str]]:
    """The code without comments, docstrings and what errors say, and the modules that it may import."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text, []
    lines, imports = text.split("\n"), []
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            erase(lines, node.body[0], 0)
        if isinstance(node, ast.Raise):
            erase(lines, node, node.col_offset + len("raise"))
        if isinstance(node, ast.Import):
            imports += [one.name for one in node.names]
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join(filter(None, [*above, node.module]))
            imports += [base, *(f"{base}.{one.name}" for one in node.names)]
    return "\n".join(line.rstrip() for line in lines if line.strip()), imports


def erase(lines: list[str], node: ast.stmt, kept: int) -> None:
    """The lines of a statement, but for what is `kept` of the first and what stands behind it."""
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    rest = lines[first][:kept] + lines[last - 1][node.end_col_offset :]
    lines[first:last] = [rest, *[""] * (last - first - 1)]


def digest(content: Any) -> str:
    return of_json(content)[:8]
