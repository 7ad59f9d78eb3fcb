"""Processes: forked from a server that has imported everything, and as the kernel lists them."""

import multiprocessing
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from subprocess import CompletedProcess
from threading import Lock
from typing import Any

from train.launch.processes import PRELOADED

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(PRELOADED)  # as the jobs of a sweep are
TIMEOUT = 300  # seconds
ASKING = Lock()  # who starts a process asks all others for their codes: of two threads one would be told 255


def start(folder: Path, function: Callable[..., Any], *arguments: Any, **environment: str) -> BaseProcess:
    """Start a function in a process with a changed environment; its output goes to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    process = SERVER.Process(target=redirected, args=(folder, environment, function, arguments))
    with ASKING:
        process.start()
    return process


def redirected(
    folder: Path, environment: dict[str, str], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    for number, name in enumerate(("out", "err"), start=1):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ.update(environment)
    function(*arguments)


def exit_code(process: BaseProcess, seconds: float = TIMEOUT) -> int | None:
    """Return the exit code of a process; kill it and return None if it takes longer."""
    wait([process.sentinel], seconds)
    with ASKING:
        code = process.exitcode
        process.kill()
        process.join()
    return code


def run_forked(function: Callable[..., Any], *arguments: Any, **environment: str) -> CompletedProcess[str]:
    """Run a function in a process of its own; return its exit code and output."""
    with tempfile.TemporaryDirectory() as folder:
        code = exit_code(start(Path(folder), function, *arguments, **environment))
        assert code is not None, f"{function.__name__} takes more than {TIMEOUT} seconds"
        out, err = (Path(folder, name).read_text() for name in ("out", "err"))
    return CompletedProcess(arguments, code, out, err)


def wait_for(is_so: Callable[[], object], seconds: float = TIMEOUT) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def process_fields(fields: str) -> list[list[str]]:
    """Return these fields of every process, as `ps` lists them."""
    count = fields.count(",")
    lines = subprocess.check_output(["ps", "-ewwo", fields], text=True).splitlines()
    return [line.split(None, count) for line in lines]


def descendants(parent: int) -> dict[int, str]:
    """Return the descendants of a process, by number, with their command lines."""
    processes = [(int(pid), int(ppid), line) for pid, ppid, line in process_fields("pid=,ppid=,args=")]
    found: dict[int, str] = {}
    for _ in range(4):
        found |= {pid: line for pid, ppid, line in processes if ppid in (parent, *found)}
    return found


def session_processes(session: int) -> list[int]:
    """Return the live processes of a session, whatever their parents are by now."""
    processes = process_fields("pid=,sid=,stat=")
    return [int(pid) for pid, sid, state in processes if int(sid) == session and state[0] != "Z"]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
