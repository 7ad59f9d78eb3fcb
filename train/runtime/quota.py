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
        quota, period = [*whole_numbers(folder / "cpu.max"), 0, 0][:2]
        if not quota:
            quota, period = (sum(whole_numbers(folder / f"cpu.cfs_{key}_us")) for key in ("quota", "period"))
        if quota and period:
            count = min(count, max(1, math.ceil(quota / period)))
    return count


def memory(groups: Path = GROUPS, membership: Path = MEMBERSHIP) -> int:
    """Return the bytes of memory that this process and its group may use in all."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([total, *(limit for _, limit in memory_limits(groups, membership))])


def available(groups: Path = GROUPS, membership: Path = MEMBERSHIP, meminfo: Path = MEMINFO) -> int:
    """Return the bytes of memory for whoever asks: free, or holding files only until then."""
    match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text()) if meminfo.exists() else None
    room = [int(match[1]) * 1024 if match else memory(groups, membership)]
    for folder, limit in memory_limits(groups, membership):
        usage = [
            *whole_numbers(folder / "memory.current"),
            *whole_numbers(folder / "memory.usage_in_bytes"),
            0,
        ][0]
        files = re.search(r"(?m)^(?:total_)?inactive_file (\d+)", file_text(folder / "memory.stat"))
        room.append(limit - usage + (int(files[1]) if files else 0))
    return max(0, min(room))


def memory_limits(groups: Path, membership: Path) -> Iterator[tuple[Path, int]]:
    """Yield each group above this process that limits memory, and its limit."""
    for folder in folders(groups, membership, "memory"):
        for limit in (
            *whole_numbers(folder / "memory.max"),
            *whole_numbers(folder / "memory.limit_in_bytes"),
        ):
            yield folder, limit


def folders(groups: Path, membership: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the groups that this process is in, and of all above them."""
    for line in file_text(membership).splitlines() or ["0::/"]:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = groups / controller if controllers else groups
        inside = root / path.strip("/")
        yield from (folder for folder in (inside, *inside.parents) if folder.is_relative_to(root))


def whole_numbers(file: Path) -> list[int]:
    """Return the whole numbers of a file; none where there is no such file, or no limit."""
    words = file_text(file).split()
    return [] if "max" in words[:1] else [int(word) for word in words if word.isdigit()]


def file_text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
