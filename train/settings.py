"""The settings of a run: from Hydra's configuration to a plain dict, and to what names its result.

Nothing heavy is imported here: the parent of a sweep reads settings without torch.
"""

import ast
import hashlib
import json
from functools import cache
from glob import glob
from importlib.metadata import version
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf"
PACKAGES = ("torch", "lightning", "numpy", "tokenizers", "sympy", "networkx")
TRAINING = ("model", "encoding", "data", "optimizer", "seed", "batch", "objective")
NOT_RESULT = ("outputs", "jobs", "wandb", "sweeps", "hydra")
NOT_TRAINER = ("devices", "num_nodes", "strategy", "threads", "log_every", "checkpoint_every")


def register() -> None:
    """Make `${project_root:}` and `${cell:}` known to the YAML files."""
    OmegaConf.register_new_resolver("project_root", lambda: str(ROOT), replace=True)
    OmegaConf.register_new_resolver("cell", lambda _root_: cell(plain(_root_)), replace=True)


def plain(config: DictConfig) -> dict[str, Any]:
    """The settings as a plain dict, without Hydra's own."""
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    names = OmegaConf.select(config, "hydra.runtime.choices")
    if names is not None:
        own.names = {key: names.get(key) for key in config.names}
    settings: dict[str, Any] = OmegaConf.to_container(own, resolve=True)  # type: ignore[assignment]
    return settings


def several(trainer: dict[str, Any]) -> bool:
    """Whether a run is more than one process."""
    return bool(trainer["devices"] != 1 or trainer["num_nodes"] != 1)


def cell(settings: dict[str, Any]) -> str:
    """Eight hex digits that name the result: a hash of everything that determines it."""
    parts = {key: value for key, value in settings.items() if key not in NOT_RESULT}
    parts["trainer"] = {k: v for k, v in settings["trainer"].items() if k not in NOT_TRAINER}
    parts["files"] = [stamps(path) for path in paths(settings.get("data"))]
    parts["sources"] = sources("train.run", *targets(settings))
    parts["versions"] = versions()
    return digest(parts)[:8]


def paths(settings: Any) -> list[str]:
    """The files that data are read from, those of the parts of a mixture too."""
    if not isinstance(settings, dict):
        return []
    own = [settings["path"]] if settings.get("path") else []
    return own + [path for part in settings.values() for path in paths(part)]


def stamps(path: str | None) -> list[tuple[str, int, int]]:
    """Name, size and time of the user's own text, so that a run on changed text is another run."""
    if not path:
        return []
    found = sorted(Path(name) for name in glob(str(path), recursive=True))
    files = [file for top in found for file in (sorted(top.rglob("*")) if top.is_dir() else [top])]
    return [(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.is_file()]


def training_cell(settings: dict[str, Any], corpus: str, precision: str) -> str:
    """The same for what training alone produces, whatever is evaluated afterwards."""
    parts: dict[str, Any] = {key: settings[key] for key in TRAINING}
    parts["name"] = settings["names"]["encoding"]
    parts["trainer"] = {key: settings["trainer"][key] for key in ("max_steps", "compile")} | {
        "precision": precision
    }
    parts["corpus"] = corpus
    parts["sources"] = sources("train.fit", *targets(parts["encoding"]))
    parts["versions"] = versions()
    return digest(parts)[:8]


def digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def versions() -> str:
    """The versions of what computes the result, in one line."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def targets(settings: Any) -> list[str]:
    """The modules of every `_target_` in the settings."""
    if isinstance(settings, dict):
        found = [settings["_target_"].rpartition(".")[0]] if settings.get("_target_") else []
        return found + [module for value in settings.values() for module in targets(value)]
    if isinstance(settings, list):
        return [module for value in settings for module in targets(value)]
    return []


def sources(*modules: str) -> str:
    """A hash of the code of these modules and of all of the project that they import, but for comments."""
    seen: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in seen and (code := parsed(module)):
            seen[module], imported = code
            waiting += imported
    return digest(seen)


@cache
def parsed(module: str) -> tuple[str, tuple[str, ...]] | None:
    """The hash of a module of this project and the names that it imports; None where it is not one."""
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if module.split(".")[0] not in ("models", "data", "train") or not file.exists():
        return None
    tree = ast.parse(file.read_text())
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return digest(ast.dump(tree)), tuple(sorted(imported))
