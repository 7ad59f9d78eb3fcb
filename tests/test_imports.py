"""Packages import only those that they may: read from the source, so that imports inside functions count."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from models.registry import names
from train.paths import ROOT

OURS = {"conf", "data", "models", "sweeps", "train"}
FRAMEWORKS = {"hydra", "lightning", "lightning_fabric", "pytorch_lightning", "wandb"}
LIGHT = ("results", "paths", "errors", "diagnostics.records")
"""Of train, what reads and tells results without torch."""

KNOWS = {
    "data": {"data", "conf"},
    "models": {"models", "conf"},
    "train": {"train", "models", "data", "conf"},
    "sweeps": {"sweeps", "models", "conf", *(f"train.{name}" for name in LIGHT)},
}
EXCEPTIONS = {
    "sweeps/audit.py": {"train.public"},
    "sweeps/plan.py": {"train.config.compose", "train.config.schema", "train.config.validation"},
    "sweeps/claims/claim.py": {"train.config.validation"},
    "sweeps/claims/exact.py": {"train.diagnostics.base"},
    "sweeps/site/settings.py": {"train.config.compose", "train.config.schema", "train.config.validation"},
}
"""An audit evaluates a checkpoint first.

A sweep's cost follows from its settings; claims are checked as settings are, and one is about RoPE; the
site has a reference of settings."""

BENCHMARKS = "sweeps/bench/"  # measures all of it, and nobody imports it
KERNELS = sorted((ROOT / "models/attention").glob("*.py"))
CORE = [ROOT / "models/effect.py", ROOT / "models/gpt.py", *KERNELS]
ORDINARY = set(
    "temperature none plain window learned integer drop crop sinks pi concatenated bfloat16".split()
)
"""Methods whose names are words that anyone may use."""


@cache
def imports(package: str) -> list[tuple[str, str]]:
    """Return every (file:line, module) that a package imports; `from a import b` is a.b."""
    return list(read_imports(package))


def read_imports(package: str) -> Iterator[tuple[str, str]]:
    for file in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            place = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                yield from ((place, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{place} is relative: say where it comes from"
                yield from ((place, f"{node.module}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("package", sorted(OURS))
def test_text_is_in_utf_8_whatever_the_locale(package: str) -> None:
    wrong = []
    for file in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
            if name in ("read_text", "write_text") and "'utf-8'" not in ast.unparse(node):
                wrong.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []


def inside(module: str, packages: set[str]) -> bool:
    return any(module == p or module.startswith(p + ".") for p in packages)


@pytest.mark.parametrize("package", sorted(KNOWS))
def test_a_package_knows_only_what_comes_before_it(package: str) -> None:
    found = imports(package)
    assert found
    ours = [pair for pair in found if inside(pair[1], OURS) and not pair[0].startswith(BENCHMARKS)]
    wrong = [
        (place, module)
        for place, module in ours
        if not inside(module, KNOWS[package] | EXCEPTIONS.get(place.partition(":")[0], set()))
    ]
    assert wrong == []


@pytest.mark.parametrize("package", sorted(KNOWS))
def test_no_module_imports_itself_by_way_of_others(package: str) -> None:
    """Importing a.b.c imports a and a.b as well."""
    files = sorted((ROOT / package).rglob("*.py"))
    modules = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files
    }
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for place, name in imports(package):
        source = place.partition(".py:")[0].replace("/", ".").removesuffix(".__init__")
        target = name if name in modules else name.rpartition(".")[0]
        parents = {target.rsplit(".", n)[0] for n in range(target.count(".") + 1)}
        graph[source] |= {module for module in parents & modules if not inside(source, {module})}
    TopologicalSorter(graph).prepare()  # CycleError names the modules


def test_nobody_knows_the_benchmarks() -> None:
    found = [
        pair for package in sorted(OURS) for pair in imports(package) if inside(pair[1], {"sweeps.bench"})
    ]
    assert [pair for pair in found if not pair[0].startswith(BENCHMARKS)] == []


@pytest.mark.parametrize("package", sorted(OURS - {"train"}))
def test_only_train_knows_the_frameworks(package: str) -> None:
    assert [pair for pair in imports(package) if inside(pair[1], FRAMEWORKS)] == []


def test_train_does_know_them() -> None:
    """Otherwise the two tests above would hold for an empty set."""
    used = {module.split(".")[0] for _, module in imports("train")}
    assert {"hydra", "lightning", "models", "data"} <= used


@pytest.mark.parametrize("file", CORE, ids=lambda file: file.stem)
def test_the_core_names_no_method(file: Path) -> None:
    """Attention implements effects. A kernel that asks for a method's name breaks the design."""
    methods = {name.replace("_", "") for name in (*names("encoding"), *names("extension"))} - ORDINARY
    used = set(words(ast.parse(file.read_text())))
    assert used & methods == set()


def test_the_core_would_be_caught() -> None:
    for line in ("if kind == 'dynamic_ntk': pass", "def rope_cache(): pass", "x = ALiBi(1)", "a.use_t5 = 1"):
        methods = {name.replace("_", "") for name in ("dynamic_ntk", "rope", "alibi", "t5")}
        assert set(words(ast.parse(line))) & methods


def words(tree: ast.AST) -> Iterator[str]:
    """Yield identifiers, and strings that are not documentation: whole, and each run of their parts."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            found = [node.value]
        else:
            fields = (getattr(node, key, None) for key in ("id", "attr", "arg", "name", "module", "asname"))
            found = [field for field in fields if isinstance(field, str)]
        for word in found:
            parts = re.findall(r"[a-z0-9]+", word.lower())
            for start in range(len(parts)):
                yield from ("".join(parts[start:stop]) for stop in range(start + 1, len(parts) + 1))
