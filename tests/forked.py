"""Functions run in new processes that start at once: forked from a server that has imported everything."""

import multiprocessing
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from train.launchers import PRELOADED

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(PRELOADED)  # as the jobs of a sweep are
TIMEOUT = 300  # seconds


def forked(
    function: Callable[..., Any], *arguments: Any, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`function(*arguments)` in a process of its own, its environment changed: exit code and output."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdout", "stderr")]
        process = SERVER.Process(target=redirected, args=(files, environment, function, arguments))
        process.start()
        process.join(TIMEOUT)
        if process.is_alive():
            process.kill()
            process.join()
        out, err = (file.read_text() for file in files)
    return subprocess.CompletedProcess(arguments, process.exitcode or 0, out, err)


def redirected(
    files: list[Path], environment: dict[str, str], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.environ.update(environment)
    function(*arguments)
