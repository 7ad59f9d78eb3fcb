"""Resources: the division of this machine's CPUs, GPUs and memory among the jobs of a sweep."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from train.config.schema import Config

DRIVER = Path("/proc/driver/nvidia/gpus")
MEMORY = 2 << 30  # bytes that a job may need


@dataclass(frozen=True)
class Share:
    """The threads and GPUs of a job; None leaves them as they are."""

    threads: int | None = None
    gpus: tuple[str, ...] | None = None


def share(config: Config, slot: int, side_by_side: int) -> Share:
    """Return the CPU threads and GPUs of a job that runs next to others on this machine."""
    threads, names = max(1, cores() // side_by_side), gpus()
    if not names:
        return Share(threads)
    count = per_job(config)
    first = slot * count % (len(names) // count * count)
    return Share(threads, names[first : first + count])


def width(config: Config) -> int:
    """Return the number of jobs that run side by side on this machine; a GPU is shared only where `jobs` asks
    for it."""
    if config.jobs != "auto":
        return config.jobs
    if gpus() and config.trainer.accelerator != "cpu":
        return len(gpus()) // per_job(config)
    if config.trainer.is_distributed:
        return 1
    return max(1, min(cores(), available() // MEMORY))


def per_job(config: Config) -> int:
    """Return the number of this machine's GPUs that a job takes."""
    devices = config.trainer.devices
    return min(devices, len(gpus())) if isinstance(devices, int) and devices > 0 else len(gpus())


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available() -> int:
    """Return the bytes of memory that a new process may take."""
    info = Path("/proc/meminfo")
    match = re.search(r"MemAvailable:\s+(\d+) kB", info.read_text("utf-8")) if info.exists() else None
    return int(match[1]) * 1024 if match else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def gpus() -> tuple[str, ...]:
    """Return the GPUs' names for CUDA_VISIBLE_DEVICES, which may leave out some of them. This does not import
    torch, which takes seconds."""
    drivers = list(DRIVER.glob("*"))
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None or not drivers:
        return tuple(map(str, range(len(drivers))))
    return tuple(name for name in chosen.replace(" ", "").split(",") if name not in ("", "-1"))
