"""The quota of a container: cores and memory, by its control groups (version 1 and 2)."""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

GROUPS, MEMBERSHIP, MEMINFO = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"), Path("/proc/meminfo")


def cores(groups: Path = GROUPS, membership: Path = MEMBERSHIP) -> int:
    """Return how many cores this process may keep busy."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in folders(groups, membership, "cpu"):
        quota, period = [*numbers(folder / "cpu.max"), 0, 0][:2]
        if not quota:
            quota, period = (sum(numbers(folder / f"cpu.cfs_{key}_us")) for key in ("quota", "period"))
        if quota and period:
            count = min(count, max(1, math.ceil(quota / period)))
    return count


def memory(groups: Path = GROUPS, membership: Path = MEMBERSHIP) -> int:
    """Return the bytes of memory that this process and its group may use in all."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([total, *(limit for _, limit in limits(groups, membership))])


def available(groups: Path = GROUPS, membership: Path = MEMBERSHIP, meminfo: Path = MEMINFO) -> int:
    """Return the bytes of memory for whoever asks: free, or holding files only until then."""
    match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text()) if meminfo.exists() else None
    room = [int(match[1]) * 1024 if match else memory(groups, membership)]
    for folder, limit in limits(groups, membership):
        usage = [*numbers(folder / "memory.current"), *numbers(folder / "memory.usage_in_bytes"), 0][0]
        files = re.search(r"(?m)^(?:total_)?inactive_file (\d+)", text(folder / "memory.stat"))
        room.append(limit - usage + (int(files[1]) if files else 0))
    return max(0, min(room))


def limits(groups: Path, membership: Path) -> Iterator[tuple[Path, int]]:
    """Yield each group above this process that limits memory, and its limit."""
    for folder in folders(groups, membership, "memory"):
        for limit in (*numbers(folder / "memory.max"), *numbers(folder / "memory.limit_in_bytes")):
            yield folder, limit


def folders(groups: Path, membership: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the groups that this process is in, and of all above them."""
    for line in text(membership).splitlines() or ["0::/"]:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = groups / controller if controllers else groups
        inside = root / path.strip("/")
        yield from (folder for folder in (inside, *inside.parents) if folder.is_relative_to(root))


def numbers(file: Path) -> list[int]:
    """Return the whole numbers of a file; none where there is no such file, or no limit."""
    words = text(file).split()
    return [] if "max" in words[:1] else [int(word) for word in words if word.isdigit()]


def text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
