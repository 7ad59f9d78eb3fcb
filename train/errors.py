"""Mistakes of the user, each told in one sentence; a bug keeps its traceback."""

import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError

from conf.errors import UsageError
from train.paths import CONF, SWEEPS
from train.ranks import is_rank_zero
from train.signals import handled, ignored, requeue, stop
from train.validation import did_you_mean

NO_ROOM = re.compile(
    "can't allocate memory|cannot allocate memory|bad_alloc|could not create a primitive|"
    "Resource temporarily unavailable",
    re.IGNORECASE,
)


@contextmanager
def explained() -> Iterator[None]:
    """End the process with one sentence and exit code 2 on a mistake, or with a traceback if
    HYDRA_FULL_ERROR=1."""
    is_full = os.environ.get("HYDRA_FULL_ERROR", "0") not in ("", "0")
    try:
        with handled():
            yield
    except BaseException as error:  # a panic of the tokenizer, in Rust, is no Exception
        if stopped := stop(error):
            ignored()
            if not is_rank_zero():
                os._exit(stopped.number + 128)  # gloo's threads may abort a process that Python ends
            print(f"yardstick: {stopped}", file=sys.stderr, flush=True)
            requeue(stopped.number)
            sys.exit(stopped.code)
        sentence = explanation(error)
        if sentence is None or is_full:
            raise
        print(f"yardstick: {sentence}", file=sys.stderr)
        sys.exit(2)


@contextmanager
def logged(folder: Path) -> Iterator[None]:
    """Keep the traceback of an error for whoever wants it."""
    try:
        yield
    except Exception as error:
        # where nothing can be written, it is this error that counts
        with suppress(OSError), (folder / "train.log").open("a") as log:
            traceback.print_exception(error, file=log)
        raise


def explanation(error: BaseException) -> str | None:
    """One sentence for an error that a user can cause; None for a bug."""
    from hydra.errors import HydraException, OverrideParseException

    if isinstance(error, OverrideParseException):
        one = str(error.override)
        if one.count("[") > one.count("]") or one.count("{") > one.count("}"):
            return f"{one} has a bracket that is not closed."
        return f"{one} should be a setting such as key=value, with quotes in key='any sign'."
    if isinstance(error, HydraException | OmegaConfBaseException):
        cause = usage_error(error)
        return str(cause) if cause is not None else of_hydra(str(error)) or type(error).__name__
    if isinstance(error, MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}, is not YAML: {error.problem}."
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}."
    if isinstance(error, UsageError | OSError):
        return str(error)
    if is_out_of_memory(error):
        whose = "GPU" if type(error).__name__ == "OutOfMemoryError" else "machine"
        return f"The {whose}'s memory is full: lower batch, evaluation.tokens or model.width."
    return None


def usage_error(error: BaseException | None) -> UsageError | None:
    """Return the mistake that made Hydra or OmegaConf raise an error of theirs, if one did."""
    while error is not None and not isinstance(error, UsageError):
        error = error.__cause__ or error.__context__
    return error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a tensor had no room, on a GPU or on the machine."""
    name = type(error).__name__
    if isinstance(error, RuntimeError) or name == "PanicException":
        return name == "OutOfMemoryError" or NO_ROOM.search(str(error)) is not None
    return isinstance(error, MemoryError)


def of_hydra(message: str) -> str:
    """A message of Hydra's or OmegaConf's, shortened to what helps."""
    if match := re.search(r"Could not override '([^']+)'", message):
        key, known = match[1], settings()
        if key in known and "." not in key:
            return f"There is no setting '{key}' here: train.evaluate and train.diagnose have it."
        if key in known:
            return f"There is no setting '{key}' here: other choices of {key.split('.')[0]} have it."
        return f"There is no setting '{key}'.{did_you_mean(key, known)}"
    if match := re.search(r"Could not find '([^']+)/([^'/]+)'", message):
        group, name = match.groups()
        folder = SWEEPS if group == "sweeps" else CONF / group
        names = sorted(file.stem for file in folder.glob("*.yaml"))
        what, listed = group.removesuffix("s"), ", ".join(names)
        return f"There is no {what} '{name}'.{did_you_mean(name, names)} There are: {listed}."
    if match := re.search(r"Could not find '([^']+)'", message) or re.search(
        r"No match in the defaults list for '?([^'\n]+)'?", message
    ):
        return f"There is no setting or group '{match[1]}'.{did_you_mean(match[1], settings())}"
    if match := re.search(r"Missing mandatory value: (\S+)", message):
        return f"{match[1]} must be given: add {match[1]}=..."
    if match := re.search(r"(?:Ambiguous value for argument|Sweep parameters) '(.+)'", message):
        return f"{match[1]} are several values: choose one, or add hydra.mode=MULTIRUN for a run of each."
    first = next((line for line in message.splitlines() if line.strip()), "")
    if keys := re.findall(r"full_key: (\S+)", message):  # from the innermost to the one that was given
        why = "it refers to itself in a circle" if "RecursionError" in message else first
        first = f"{keys[-1]} cannot be resolved: {why}"
    return first if first.endswith((".", "!")) else f"{first}."


@cache
def settings() -> list[str]:
    """The groups of `conf/`, and the dotted names of all settings that any file of it has."""
    keys = [folder.name for folder in CONF.iterdir() if any(folder.glob("*.yaml"))]
    for file in sorted(CONF.rglob("*.yaml")):
        whole = file.parent == CONF or file.read_text().startswith("# @package _global_")
        group = ".".join(file.parent.relative_to(CONF).parts)
        keys += leaves(OmegaConf.load(file), "" if whole else f"{group}.")
    own = re.compile(r"defaults|hydra\.(?!launcher)")
    return [key for key in keys if not own.match(key)]


def leaves(node: Any, prefix: str = "") -> Iterator[str]:
    """Every setting by its dotted name."""
    for key in node:
        child = node._get_node(key)
        if isinstance(child, DictConfig) and child:
            yield from leaves(child, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
