"""Cores and memory of a machine, of a container, and of nested groups."""

import os
from pathlib import Path

import pytest

from train.runtime import quota

GIGABYTE = 1 << 30


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content + "\n")


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of control groups, next to the file that names the group of this process."""
    write(tmp_path, membership="0::/jobs/mine")
    for name in ("membership", "meminfo"):
        monkeypatch.setattr(quota, name.upper(), tmp_path / name)
    monkeypatch.setattr(quota, "GROUPS", tmp_path / "cgroup")
    return tmp_path / "cgroup"


def test_without_a_quota_the_machine_counts(groups: Path) -> None:
    write(groups / "jobs/mine", cpu__max="max 100000", memory__max="max")
    assert quota.cores() == len(os.sched_getaffinity(0))
    assert quota.memory() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize("where", ["", "jobs", "jobs/mine"])
def test_the_second_version(groups: Path, where: str) -> None:
    write(groups / where, cpu__max="50000 100000", memory__max=str(GIGABYTE))
    write(groups / where, memory__current=str(GIGABYTE // 2), memory__stat="inactive_file 1000\nfile 2")
    assert quota.cores() == 1
    assert quota.memory() == GIGABYTE
    assert quota.available() == GIGABYTE // 2 + 1000


def test_the_first_version(groups: Path) -> None:
    groups.with_name("membership").write_text("4:memory:/a\n3:cpu,cpuacct:/a\n")
    write(groups / "cpu/a", cpu__cfs_quota_us="100000", cpu__cfs_period_us="100000")
    write(groups / "memory", memory__limit_in_bytes=str(GIGABYTE), memory__usage_in_bytes="1000")
    assert (quota.cores(), quota.memory()) == (1, GIGABYTE)
    assert quota.available() == GIGABYTE - 1000


def test_memory_that_holds_files_counts(groups: Path, tmp_path: Path) -> None:
    """After a day's work little is free, because files stay in memory until it is needed."""
    write(tmp_path, meminfo="MemFree:  1000 kB\nMemAvailable:  7000 kB")
    assert quota.available() == 7000 * 1024
