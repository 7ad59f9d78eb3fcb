"""The quota of a container: cores and memory, by its control groups (version 1 and 2)."""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

GROUPS, MEMBERSHIP, MEMINFO = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"), Path("/proc/meminfo")


def cores() -> int:
    """Return the number of cores that this process may use."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in folders("cpu"):
        files = folder / "cpu.max", folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us"
        quota, period = [*whole_numbers(*files), 0, 0][:2]
        if quota and period:
            count = min(count, max(1, math.ceil(quota / period)))
    return count


def memory() -> int:
    """Return the bytes of memory that this process and its group may use in total."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([total, *(limit for _, limit in memory_limits())])


def available() -> int:
    """Return the bytes of available memory: free, or filled with files that can be dropped."""
    match = re.search(r"MemAvailable:\s+(\d+) kB", file_text(MEMINFO))
    room = [int(match[1]) * 1024 if match else memory()]
    for folder, limit in memory_limits():
        usage = sum(whole_numbers(folder / "memory.current", folder / "memory.usage_in_bytes"))
        files = re.search(r"(?m)^(?:total_)?inactive_file (\d+)", file_text(folder / "memory.stat"))
        room.append(limit - usage + (int(files[1]) if files else 0))
    return max(0, min(room))


def memory_limits() -> Iterator[tuple[Path, int]]:
    """Yield each group above this process that limits memory, with its limit."""
    for folder in folders("memory"):
        for limit in whole_numbers(folder / "memory.max", folder / "memory.limit_in_bytes"):
            yield folder, limit


def folders(controller: str) -> Iterator[Path]:
    """Yield the folders of this process's groups, and of all groups above them."""
    for line in file_text(MEMBERSHIP).splitlines() or ["0::/"]:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = GROUPS / controller if controllers else GROUPS
        inside = root / path.strip("/")
        yield from (folder for folder in (inside, *inside.parents) if folder.is_relative_to(root))


def whole_numbers(*files: Path) -> list[int]:
    """Return the integers in files, without those that are missing or set no limit."""
    texts = [words for file in files if (words := file_text(file).split()) and words[0] != "max"]
    return [int(word) for words in texts for word in words if word.isdigit()]


def file_text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
