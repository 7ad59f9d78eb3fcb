"""Errors in the code of a method or a data source that is being written: one sentence with file and line."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from train.config import Config
from train.errors import is_out_of_memory
from train.fingerprints import extension_content, located, unverified
from train.paths import ROOT


@contextmanager
def attributed(config: Config) -> Iterator[None]:
    """ValueError in place of what the code of this run's encoding, extensions or data raises, if it is not
    verified: that of verified code is a bug of ours, and keeps its traceback."""
    try:
        yield
    except Exception as error:
        own = files(config)
        place = where(error, own)
        if place is None or is_sentence(error, own) or is_out_of_memory(error):
            raise
        first = error.msg if isinstance(error, SyntaxError) else next(iter(str(error).splitlines()), "")
        raise ValueError(f"{place}: {type(error).__name__}: {first}") from error


def files(config: Config) -> set[Path]:
    """Those of the methods and data that are not verified."""
    listed = [extension_content(name) for name in config.evaluation.named]
    settings = [config.encoding.parameters, config.extension.parameters, config.data, *listed]
    return {file for module in unverified(settings) if (file := located(module)) is not None}


def where(error: Exception, within: set[Path]) -> str | None:
    """The innermost line of these files that was being executed: models/encodings/mine.py, line 12."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    for name, line in reversed(lines):
        if (file := Path(name).resolve()) in within:
            return f"{file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}, line {line}"
    return None


def is_sentence(error: Exception, own: set[Path]) -> bool:
    """Whether it was raised on purpose, to be read by the user."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    file = Path(frame.filename).resolve()
    raised = (file in own or file.is_relative_to(ROOT)) and (frame.line or "").startswith("raise")
    return isinstance(error, OSError) or (type(error) is ValueError and raised)
