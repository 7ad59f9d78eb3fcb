"""The kinds of disturbance: signals, damaged files, a failing machine; how often and where each is tried."""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM
from typing import NamedTuple

from tests.chaos.scenarios import SCENARIOS, Ended, Inside, Place, Undisturbed, at_each_write, copy
from tests.harm import flip, limit, swap, truncate, zero
from tests.processes import session_processes
from tests.train.wandb_server import served
from train import wandb_run


@dataclass(frozen=True)
class Case:
    """The last command line of a scenario, and the disturbance that it suffers."""

    random: random.Random
    lines: list[list[str]]
    place: Place
    of: Undisturbed

    def ended(self, *inside: Inside) -> list[Ended]:
        return [self.place.end(self.begin(*inside))]

    def begin(self, *inside: Inside, **environment: str) -> BaseProcess:
        return self.place.begin(self.lines, *inside, **environment)

    def wait(self) -> None:
        """Wait until the moment of the disturbance."""
        time.sleep(self.random.uniform(0, self.of.seconds))

    def at_write(self, do: Callable[[], object]) -> list[Ended]:
        """Act inside the process, before one of its changes to files."""
        number = self.random.randint(1, self.of.writes)
        return self.ended(partial(at_write, self.place.outputs, number, do))

    def finish(self) -> None:
        """Leave the files of an undisturbed run."""
        shutil.rmtree(self.place.outputs, ignore_errors=True)
        copy(self.of.outputs, self.place.outputs)


# ---- from inside of the process


def at_write(folder: Path, number: int, do: Callable[[], object]) -> None:
    count = iter(range(1, 1 << 20))
    at_each_write(folder, lambda: do() if next(count) == number else None)


def signal_oneself(number: int) -> None:
    os.kill(os.getpid(), number)


def die_in_a_write(size: int) -> None:
    """Die in the middle of the first file that grows past a size."""
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, size)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def limit_memory(size: int) -> None:
    """Let allocations fail once the process holds this many bytes more than now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit(resource.RLIMIT_AS, pages * resource.getpagesize() + size)
    limit(resource.RLIMIT_CORE, 0)


def limit_files(count: int) -> None:
    limit(resource.RLIMIT_NOFILE, len(os.listdir("/proc/self/fd")) + count)


def let_time_jump(seed: int) -> None:
    """Let the clock leap by up to three years, forward or back, at every hundredth reading."""
    draw, real, offset, looks = random.Random(seed), time.time, 0.0, 0

    def leaping() -> float:
        nonlocal offset, looks
        looks += 1
        offset = draw.uniform(-1e8, 1e8) if looks % 100 == 1 else offset
        return real() + offset

    time.time = leaping


def lose_patience() -> None:
    """Give the W&B server one second in place of a minute."""
    wandb_run.PATIENCE = wandb_run.UPLOAD = 1.0
    import wandb.apis.public.api

    wandb.apis.public.api.Api._HTTP_TIMEOUT = 1


# ---- signals: at a moment, at a write, in the middle of one; to a run, to a sweep, to one of several


def kill_at_a_moment(number: int, case: Case) -> list[Ended]:
    process = case.begin()
    case.wait()
    kill = case.random.choice([os.kill, os.killpg])
    with suppress(ProcessLookupError):  # it was faster, or has no group yet
        kill(process.pid or 0, number)
    return [case.place.end(process)]


def kill_at_a_write(number: int, case: Case) -> list[Ended]:
    return case.at_write(partial(signal_oneself, number))


def kill_in_a_write(case: Case) -> list[Ended]:
    return case.ended(partial(die_in_a_write, int(2 ** case.random.uniform(8, 18))))


def kill_a_job(case: Case) -> list[Ended]:
    process = case.begin()
    case.wait()
    others = [pid for pid in session_processes(process.pid or 0) if pid != process.pid]
    if others:
        os.kill(case.random.choice(others), SIGKILL)
    return [case.place.end(process)]


def kill_one_of_three(case: Case) -> list[Ended]:
    """Start the same command line three times at once, and kill one of the three."""
    places = [case.place]
    for name in ("one", "two"):
        places.append(Place(case.place.folder / name, case.place.text))
        places[-1].folder.mkdir()
        places[-1].outputs.symlink_to(case.place.outputs)
    processes = [place.begin(case.lines) for place in places]
    case.wait()
    case.random.choice(processes).kill()
    ends = [place.end(process) for place, process in zip(places, processes, strict=True)]
    for twin in places[1:]:
        shutil.rmtree(twin.folder)
    return ends


# ---- files that are not what was written


def damage(damage_kind: str, case: Case) -> list[Ended]:
    """Damage a file of a finished run. Half the time, delete its results, so that they are made again."""
    case.finish()
    if case.random.random() < 0.5:
        for name in ("runs", "sweeps"):
            shutil.rmtree(case.place.outputs / name, ignore_errors=True)
    harm(damage_kind, case)
    return []


def kill_then_damage(case: Case) -> list[Ended]:
    ends = kill_at_a_write(SIGKILL, case)
    harm(case.random.choice(["flip", "zero", "cut", "delete"]), case)
    return ends


def harm(damage_kind: str, case: Case) -> None:
    others = {file.name: file for file in files(case.of.other)}
    found = [file for file in files(case.place.outputs) if damage_kind != "swap" or file.name in others]
    if not found:
        return
    file = case.random.choice(found)
    at = case.random.randrange(file.stat().st_size)
    match damage_kind:
        case "flip" | "zero" | "cut":
            {"flip": flip, "zero": zero, "cut": truncate}[damage_kind](file, at)
        case "delete":
            file.unlink()
        case "swap":
            swap(file, others[file.name])


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def shift_times_of_files(case: Case) -> list[Ended]:
    case.finish()
    for file in case.place.outputs.rglob("*"):
        then = case.random.uniform(0, 2**32)
        os.utime(file, (then, then))
    return []


# ---- a machine that fails a run: its disk, its memory, its clock, the network


@contextmanager
def disk(folder: Path, size: int) -> Iterator[bool]:
    """Mount a disk of a given size over a folder and keep its content; yield False if mounting is not
    allowed."""
    content = folder.with_name("content")
    copy(folder, content)
    allowed = mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
    try:
        if allowed:
            copy(f"{content}/.", folder)
        yield allowed
    finally:
        shutil.rmtree(content)
        if allowed:
            copy(folder, content)
            subprocess.run(["umount", "-l", folder], check=True)
            shutil.rmtree(folder)
            content.rename(folder)


def mount(*arguments: object) -> bool:
    return not subprocess.run(["mount", *map(str, arguments)], capture_output=True).returncode


def fill_the_disk(case: Case) -> list[Ended]:
    size = case.random.randint(50_000, 1_500_000)
    used = sum(2 * file.stat().st_size for file in files(case.of.before))
    with disk(case.place.outputs, size + used) as allowed:
        limits = [] if allowed else [partial(limit, resource.RLIMIT_FSIZE, size // 4)]
        return case.ended(*limits)


def protect_the_disk(case: Case) -> list[Ended]:
    if case.random.random() < 0.5:
        damage(case.random.choice(["flip", "cut", "delete"]), case)
    with disk(case.place.outputs, 1 << 26) as allowed:
        if allowed:
            assert mount("-o", "remount,ro", case.place.outputs)
        return case.ended()


def leave_few_files(case: Case) -> list[Ended]:
    return case.ended(partial(limit_files, case.random.randint(0, 8)))


def shift_the_clock(case: Case) -> list[Ended]:
    return case.ended(partial(let_time_jump, case.random.randrange(1 << 32)))


def take_wandb_away(case: Case) -> list[Ended]:
    """Silence the W&B server, let it refuse connections, or kill its process on this machine."""
    with served() as server:
        key = {"WANDB_MODE": "online", "WANDB_BASE_URL": server.url, "WANDB_API_KEY": "local-" + 40 * "a"}
        process = case.begin(lose_patience, **key)
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


def leave_little_memory(case: Case) -> list[Ended]:
    """Leave little memory from one of the writes on."""
    return case.at_write(partial(limit_memory, int(2 ** case.random.uniform(16, 27))))


class Kind(NamedTuple):
    weight: int
    scenarios: tuple[str, ...]
    happen: Callable[[Case], list[Ended]]


ALONE = tuple(name for name in SCENARIOS if name != "a sweep")
EVERY, SWEEPS, LONG = tuple(SCENARIOS), ("a sweep",), ("a long evaluation",)
KINDS = {
    "kill -9 at a moment": Kind(6, ALONE, partial(kill_at_a_moment, SIGKILL)),
    "SIGTERM at a moment": Kind(4, ALONE, partial(kill_at_a_moment, SIGTERM)),
    "SIGINT at a moment": Kind(4, ALONE, partial(kill_at_a_moment, SIGINT)),
    "kill -9 at a write": Kind(8, ALONE, partial(kill_at_a_write, SIGKILL)),
    "SIGTERM at a write": Kind(3, ALONE, partial(kill_at_a_write, SIGTERM)),
    "SIGINT at a write": Kind(3, ALONE, partial(kill_at_a_write, SIGINT)),
    "kill in the middle of a write": Kind(4, ALONE, kill_in_a_write),
    "kill -9 of a sweep's parent": Kind(2, SWEEPS, partial(kill_at_a_moment, SIGKILL)),
    "SIGTERM to a sweep's parent": Kind(2, SWEEPS, partial(kill_at_a_moment, SIGTERM)),
    "SIGINT to a sweep's parent": Kind(2, SWEEPS, partial(kill_at_a_moment, SIGINT)),
    "kill -9 of a sweep's job": Kind(3, SWEEPS, kill_a_job),
    "kill -9 of one of three": Kind(3, ALONE, kill_one_of_three),
    "a flipped bit": Kind(8, EVERY, partial(damage, "flip")),
    "a zeroed sector": Kind(8, EVERY, partial(damage, "zero")),
    "a file cut short": Kind(8, EVERY, partial(damage, "cut")),
    "a deleted file": Kind(8, EVERY, partial(damage, "delete")),
    "a file of another run": Kind(8, EVERY, partial(damage, "swap")),
    "kill -9, then damage": Kind(10, ALONE, kill_then_damage),
    "a full disk": Kind(8, EVERY, fill_the_disk),
    "a read-only disk": Kind(4, EVERY, protect_the_disk),
    "few file handles": Kind(5, EVERY, leave_few_files),
    "times of files that jump": Kind(4, EVERY, shift_times_of_files),
    "a time of day that jumps": Kind(4, ALONE, shift_the_clock),
    "W&B goes away": Kind(4, ALONE, take_wandb_away),
    "little memory": Kind(8, (*ALONE, *LONG, *LONG, *LONG), leave_little_memory),
}
