"""What the user did wrong, in one sentence; never a traceback for a mistake, always one for a bug."""

import re
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from train.check import close, content, leaves
from train.settings import CONF


@contextmanager
def sentences() -> Iterator[None]:
    """Turn a mistake into its sentence and exit code 2."""
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the way out
        print("\nInterrupted. The same command goes on from here.", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        sentence = explained(error)
        if sentence is None:
            raise
        print(f"yardstick: {sentence}", file=sys.stderr)
        sys.exit(2)


def explained(error: Exception) -> str | None:
    """One sentence for an error that a user can cause; None for a bug."""
    from hydra.errors import HydraException

    if isinstance(error, HydraException | OmegaConfBaseException):
        return of_hydra(error)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}."
    if isinstance(error, ValueError | OSError):
        return str(error)
    if type(error).__name__ == "OutOfMemoryError":
        return "The GPU's memory is full: lower batch, evaluation.tokens or model.width."
    return None


def of_hydra(error: Exception) -> str:
    """Hydra's and OmegaConf's messages, shortened to what helps."""
    text = str(error)
    if found := re.search(r"Could not override '([^']+)'", text):
        key, known = found[1], [*groups(), *every_setting()]
        if key in known:
            return f"There is no setting '{key}' here: other choices of {key.split('.')[0]} have it."
        return f"There is no setting '{key}'.{close(key, known)}"
    if found := re.search(r"Could not find '([^'/]+)/([^']+)'", text) or re.search(
        r"In '[^']*': Could not find '([^'/]+)/([^']+)'", text
    ):
        group, name = found[1], found[2]
        folder = CONF.parent / "sweeps" if group == "sweeps" else CONF / group
        names = sorted(file.stem for file in folder.glob("*.yaml"))
        return f"There is no {group} '{name}'.{close(name, names)} There are: {', '.join(names)}."
    if found := re.search(r"Could not find '([^']+)'", text) or re.search(
        r"No match in the defaults list for '?([^'\n]+)'?", text
    ):
        return f"There is no setting or group '{found[1]}'.{close(found[1], [*groups(), *every_setting()])}"
    if found := re.search(r"Missing mandatory value: (\S+)", text):
        return f"{found[1]} must be given: add {found[1]}=..."
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    return first if first.endswith((".", "!")) else f"{first}."


def groups() -> list[str]:
    """The folders of `conf/`."""
    return sorted(folder.name for folder in CONF.iterdir() if any(folder.glob("*.yaml")))


def every_setting() -> list[str]:
    """The dotted names of all settings that any file of `conf/` has."""
    found: dict[str, Any] = {}
    for file in sorted(CONF.rglob("*.yaml")):
        node = OmegaConf.to_container(content(file), resolve=False)
        found |= dict(leaves(cast(dict[str, Any], node)))
    return [key for key in found if not key.startswith(("hydra", "defaults"))]


@contextmanager
def logged(folder: Path) -> Iterator[None]:
    """Keep the traceback of an error for whoever wants it."""
    try:
        yield
    except Exception as error:
        with (folder / "train.log").open("a") as log:
            traceback.print_exception(error, file=log)
        raise
