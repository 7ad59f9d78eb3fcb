"""The name to import: `from yardstick import load, evaluate, Encoding, Effect`.

The folders of the project have names that other projects have too, so this package finds them first.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.effect import Effect
    from models.encoding import Encoding
    from train.evaluate import evaluate
    from train.inference.hugging_face import YardstickConfig, YardstickForCausalLM
    from train.load import load

__all__ = ["Effect", "Encoding", "YardstickConfig", "YardstickForCausalLM", "evaluate", "load"]
ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("conf", "data", "models", "sweeps", "train")
HOMES = {
    "Effect": "models.effect",
    "Encoding": "models.encoding",
    "YardstickConfig": "train.inference.hugging_face",
    "YardstickForCausalLM": "train.inference.hugging_face",
    "evaluate": "train.evaluate",
    "load": "train.load",
}


class Finder:
    """A finder of the project's folders alone, before any others of these names."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [str(ROOT)]) if name in FOLDERS else None


for folder in FOLDERS:
    place = getattr(sys.modules.get(folder, Finder), "__file__", None)
    if place is not None and Path(place).resolve() != ROOT / folder / "__init__.py":
        raise ImportError(
            f"{place} was imported as '{folder}', a name that Yardstick needs: import yardstick first, or "
            "rename that module."
        )
sys.meta_path.insert(0, Finder)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'yardstick' has no attribute '{name}'")
    return getattr(import_module(HOMES[name]), name)
