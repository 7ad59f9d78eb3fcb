"""A machine that fails a run: its disk, its memory, its clock, the network."""

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from signal import SIGKILL

from tests.chaos import inside
from tests.chaos.case import Case, copy, files
from tests.chaos.damage import harmed
from tests.chaos.scenarios import Ended
from tests.train.wandb_server import served


@contextmanager
def disk(folder: Path, size: int) -> Iterator[bool]:
    """A disk of so many bytes in the place of a folder, whose content stays; False: not allowed."""
    content = folder.with_name("content")
    copy(folder, content) if folder.exists() else content.mkdir(parents=True)
    folder.mkdir(exist_ok=True)
    allowed = mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
    try:
        if allowed:
            copy(f"{content}/.", folder)
        yield allowed
    finally:
        if allowed:
            shutil.rmtree(content)
            copy(folder, content)
            subprocess.run(["umount", "-l", folder], check=True)
            shutil.rmtree(folder)
            content.rename(folder)
        else:
            shutil.rmtree(content)


def mount(*arguments: object) -> bool:
    return not subprocess.run(["mount", *map(str, arguments)], capture_output=True).returncode


def full_disk(case: Case) -> list[Ended]:
    size = case.random.randint(50_000, 1_500_000)
    with disk(
        case.place.outputs, size + sum(2 * file.stat().st_size for file in files(case.of.before))
    ) as allowed:
        limits = [] if allowed else [partial(inside.limit, resource.RLIMIT_FSIZE, size // 4)]
        return case.ended(*limits)


def read_only(case: Case) -> list[Ended]:
    if case.random.random() < 0.5:
        harmed(case.random.choice(["flip", "cut", "delete"]), case)
    with disk(case.place.outputs, 1 << 26) as allowed:
        if allowed:
            assert mount("-o", "remount,ro", case.place.outputs)
        return case.ended()


def few_files(case: Case) -> list[Ended]:
    return case.ended(partial(inside.more_files_than_now, case.random.randint(0, 8)))


def time_of_day(case: Case) -> list[Ended]:
    return case.ended(partial(inside.jumping_clock, case.random.randrange(1 << 32)))


def no_wandb(case: Case) -> list[Ended]:
    """Its server falls silent or refuses connections, or its process on this machine is killed."""
    with served() as server:
        key = {"WANDB_MODE": "online", "WANDB_BASE_URL": server.url, "WANDB_API_KEY": "local-" + 40 * "a"}
        process = case.begin(inside.little_patience, **key)
        case.wait()
        match case.random.choice(["silent", "gone", "killed"]):
            case "silent":
                server.deaf = True
            case "gone":
                server.shutdown()
                server.server_close()
            case "killed":
                for pid in case.place.services():
                    os.kill(pid, SIGKILL)
        return [case.place.end(process)]


def little_memory(case: Case) -> list[Ended]:
    """From a write on."""
    number, size = case.random.randint(1, case.of.writes), int(2 ** case.random.uniform(16, 27))
    limit = partial(inside.more_memory_than_now, size)
    return case.ended(partial(inside.at_write, case.place.outputs, number, limit))
