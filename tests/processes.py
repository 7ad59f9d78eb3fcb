"""Other processes, as the kernel lists them."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

TIMEOUT = 300  # seconds


def wait_for(is_so: Callable[[], object], seconds: float = TIMEOUT) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def family(parent: int) -> dict[int, str]:
    """The processes that a process started, and theirs, by number: their command lines."""
    lines = subprocess.check_output(["ps", "-ewwo", "pid=,ppid=,args="], text=True).splitlines()
    processes = [(int(pid), int(ppid), line) for pid, ppid, line in (one.split(None, 2) for one in lines)]
    found: dict[int, str] = {}
    for _ in range(4):
        found |= {pid: line for pid, ppid, line in processes if ppid in (parent, *found)}
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def of_session(session: int) -> list[int]:
    """The processes of a session that are alive, whoever their parents are by now."""
    lines = subprocess.check_output(["ps", "-eo", "pid=,sid=,stat="], text=True).splitlines()
    every = (line.split() for line in lines)
    return [int(pid) for pid, sid, state in every if int(sid) == session and not state.startswith("Z")]
