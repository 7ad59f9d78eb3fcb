"""Functions run in new processes that start at once: forked from a server that has imported everything."""

import multiprocessing
import os
import subprocess
import tempfile
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from typing import Any

from train.launch.launchers import PRELOADED

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(PRELOADED)  # as the jobs of a sweep are
TIMEOUT = 300  # seconds
ASKING = Lock()  # who starts a process asks all others for their codes: of two threads one would be told 255


def forked(
    function: Callable[..., Any], *arguments: Any, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`function(*arguments)` in a process of its own, its environment changed: exit code and output."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdout", "stderr")]
        process = SERVER.Process(target=redirected, args=(files, environment, function, arguments))
        start(process)
        code = ended(process, TIMEOUT)
        if code is None:
            process.kill()
            code = ended(process, TIMEOUT)
        out, err = (file.read_text() for file in files)
    return subprocess.CompletedProcess(arguments, code or 0, out, err)


def start(process: BaseProcess) -> None:
    with ASKING:
        process.start()


def ended(process: BaseProcess, seconds: float) -> int | None:
    """Its exit code; None if it goes on for longer."""
    wait([process.sentinel], seconds)
    with ASKING:
        return process.exitcode


def redirected(
    files: list[Path], environment: dict[str, str], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.environ.update(environment)
    function(*arguments)
