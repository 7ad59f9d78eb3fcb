"""Errors: a mistake of the user becomes one sentence; a bug keeps its traceback."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TypeVar, cast

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)
from yaml import MarkedYAMLError

from conf.choices import take_methods
from conf.errors import UsageError, no_choice, printable
from train.config.validation import keys, no_setting
from train.runtime.process import Stopped, handle, handle_signals, requeue
from train.runtime.ranks import is_rank_zero

NO_ROOM = re.compile(
    "can't allocate memory|cannot allocate memory|bad_alloc|could not create a primitive|"
    "Resource temporarily unavailable",
    re.IGNORECASE,
)
Kind = TypeVar("Kind", bound=BaseException)


@contextmanager
def command_line(usage: str | None = None) -> Iterator[None]:
    """Print the usage on --help, and take folders of methods from the command line.

    A mistake ends the process with one sentence and exit code 2, or with a traceback if HYDRA_FULL_ERROR=1.
    """
    is_full = os.environ.get("HYDRA_FULL_ERROR", "0") not in ("", "0")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal's encoding may lack letters
    try:
        with handle_signals():
            if usage and {"-h", "--help"} & {*sys.argv[1:]}:
                print(usage.strip())
                sys.exit(0)
            sys.argv[1:] = take_methods(sys.argv[1:])
            yield
    except BaseException as error:
        if stopped := cause_of(error, Stopped):  # somebody's clean-up may have failed on the way out
            handle(signal.SIG_IGN)  # another Ctrl-C must not interrupt the way out
            if not is_rank_zero():
                os._exit(stopped.number + 128)  # gloo's threads may abort a process that Python ends
            with suppress(OSError):  # after SIGHUP the terminal is gone
                print(f"yardstick: {stopped}", file=sys.stderr, flush=True)
            requeue(stopped.number)
            sys.exit(stopped.code)
        sentence = explanation(error)
        if sentence is None or is_full:
            raise
        print(f"yardstick: {printable(sentence)}", file=sys.stderr)
        sys.exit(2)


def explanation(error: BaseException) -> str | None:
    """Return one sentence for an error that a user can cause; None for a bug."""
    if isinstance(error, HydraException | OmegaConfBaseException):
        mistake = cause_of(error, UsageError)
        return str(mistake) if mistake else of_hydra(error)
    if isinstance(error, MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}, is not YAML: {error.problem}."
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}."
    if isinstance(error, UsageError | OSError):
        return str(error)
    if isinstance(error, ValueError) and str(error).startswith("Config group override must be a string"):
        return "What is chosen has a name and no number: write encoding=alibi, for example."
    if isinstance(error, RuntimeError) and "by peer" in str(error):
        return "Another process of this run has ended; what it printed tells why."
    if is_out_of_memory(error):
        whose = "GPU" if type(error).__name__ == "OutOfMemoryError" else "machine"
        return f"The {whose}'s memory is full: lower batch, evaluation.tokens or model.width."
    return None


def cause_of(error: BaseException | None, kind: type[Kind]) -> Kind | None:
    """Return the first error of a kind in the chain of causes of an error."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out, on a GPU or on the machine."""
    is_torchs = isinstance(error, RuntimeError) and NO_ROOM.search(str(error)) is not None
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or is_torchs


def of_hydra(error: BaseException) -> str:
    """Return a sentence about an override that Hydra refuses, with the name that was probably meant."""
    if isinstance(error, MissingConfigException) and error.options is not None:
        group, _, name = (error.missing_cfg_file or "").rpartition("/")
        return no_choice(group.removesuffix("s"), name, error.options)
    if isinstance(error, OverrideParseException):
        return (
            f"{error.override} should be a setting such as key=value, or \"key='any sign'\" with both quotes."
        )
    text = str(error).partition("\n")[0].rstrip(".")
    if text.startswith("Ambiguous value"):
        return f"{text.split()[-1]} are several values: choose one, or add -m to run each."
    if text.startswith("BasicSweeper does not support"):
        return "A range such as interval(1,2) is for a sweeper that searches: add hydra/sweeper=optuna."
    setting = cause_of(error, OmegaConfBaseException)
    if setting is None:
        return f"{text}."
    key = setting.full_key or ""
    while isinstance(setting.__cause__ or setting.__context__, OmegaConfBaseException):
        setting = cast(OmegaConfBaseException, setting.__cause__ or setting.__context__)
        key = setting.full_key or key
    if isinstance(setting, MissingMandatoryValue):
        return f"{key} must be given: add {key}=..."
    if isinstance(setting, ConfigAttributeError | ConfigKeyError):
        return f"{no_setting(key, neighbours(setting, key))} To add it: +{key}=..."
    why = str(setting).partition("\n")[0].rstrip(".")
    return f"{key} cannot be resolved: {'it refers to itself' if cause_of(error, RecursionError) else why}."


def neighbours(error: OmegaConfBaseException, key: str) -> list[str]:
    """Return the dotted names of the settings beside one that does not exist, and of all that always do."""
    from train.config.schema import Config

    prefix = key.rpartition(".")[0]
    siblings = [f"{prefix}.{name}".lstrip(".") for name in error.parent_node or ()]
    return [*siblings, *keys(Config)]
