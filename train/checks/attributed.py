"""Errors in the code of a new method or data source, as one sentence with file and line."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conf.errors import UsageError
from data.code import module_file, modules
from train.config.run_id import extension_content
from train.config.schema import Config
from train.errors import is_out_of_memory
from train.paths import ROOT


@contextmanager
def attribute_errors(config: Config) -> Iterator[None]:
    """Turn an error in the code of this run's methods or data into a sentence with file and line."""
    try:
        yield
    except (UsageError, OSError):
        raise
    except Exception as error:
        place = line_of_error(error, user_files(config))
        if place is None or is_out_of_memory(error):
            raise
        first = error.msg if isinstance(error, SyntaxError) else next(iter(str(error).splitlines()), "")
        raise UsageError(f"{place}: {type(error).__name__}: {first}") from error


def user_files(config: Config) -> set[Path]:
    """Return the files of the run's encoding, extensions and data outside this project."""
    contents = [extension_content(name) for name in config.evaluation.named]
    settings = [config.encoding.parameters, config.extension.parameters, config.data, *contents]
    methods = (module_file(module) for module in modules(settings))
    return {file for file in methods if file is not None and not file.is_relative_to(ROOT)}


def line_of_error(error: Exception, within: set[Path]) -> str | None:
    """Return the innermost line of these files in a traceback: models/encodings/mine.py, line 12."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    for name, line in reversed(lines):
        if (file := Path(name).resolve()) in within:
            return f"{file}, line {line}"
    return None
