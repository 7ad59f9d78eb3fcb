"""A run that is disturbed, and its command repeated: it ends well, with the rows of an undisturbed run."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import torch

from tests.harm import flip, limit, truncate, zero
from tests.processes import exit_code, session_processes, start
from tests.train.conftest import ROOT, SMALL
from train.reproduce import MEASURED
from train.results.rows import Row, read_rows
from train.results.run_folder import OUT_OF_MEMORY

PATIENCE = 120  # seconds for a command line that takes one or two
CLOSE = 1e-6  # of a training that was resumed
WRITES = {"open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate"}
TINY = [*SMALL, "trainer.max_steps=30", "trainer.checkpoint_every=4", "trainer.log_every=3"]
SCENARIOS = {
    "a run": [*TINY, "evaluation.extensions=[pi,crop]", "trainer.keep=[0.5]"],
    "a run that is fine-tuned": [*TINY, "extension=pi", "extension.finetune_steps=12"],
    "a sweep": [*TINY, "hydra.mode=MULTIRUN", "seed=0,1", "jobs=2", "report=null"],
}
ADVICE = re.compile(r"delete (\S+) and run again")
Inside = Callable[[], object]  # done in a process before its command line


class Place:
    """A folder in which the command line of a scenario runs."""

    def __init__(self, folder: Path, text: Path, scenario: str) -> None:
        self.folder, self.outputs = folder, folder / "outputs"
        self.line = [*SCENARIOS[scenario], f"data.path={text}", f"outputs={self.outputs}"]
        self.line += [f"hydra.sweep.dir={self.outputs}/sweep"] if "jobs=2" in self.line else []
        folder.mkdir(parents=True)

    def run(self, *inside: Inside, kill: tuple[int, float] | None = None) -> tuple[int | None, str]:
        """Run the command line, perhaps with a signal after some seconds; return its exit code, None if it
        hangs, and its output. Processes that outlive it are its fault."""
        process = start(self.folder, run_line, inside, self.line, PYTHONPATH=str(ROOT), WANDB_MODE="disabled")
        if kill is not None:
            time.sleep(kill[1])
            with suppress(ProcessLookupError):  # it was faster
                os.kill(process.pid or 0, kill[0])
        code = exit_code(process, PATIENCE)
        end = time.monotonic() + PATIENCE
        while (left := session_processes(process.pid or 0)) and time.monotonic() < end:
            time.sleep(0.05)
        text = "".join((self.folder / name).read_text(errors="replace") for name in ("out", "err"))
        return code, text + f"\nTraceback: {left} outlive it" * bool(left)


def run_line(inside: tuple[Inside, ...], line: list[str]) -> None:
    os.setsid()
    torch.set_num_threads(1)
    for disturb in inside:
        disturb()
    sys.argv = ["train", *line]
    import_module("train.__main__").entry()


def at_write(folder: Path, number: int, do: Callable[[], object]) -> None:
    """Act before one of the changes that this process makes to the files of a folder."""
    process, count = os.getpid(), iter(range(1, 1 << 20))

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        is_write = event in WRITES and (event != "open" or arguments[2] & (os.O_WRONLY | os.O_RDWR))
        is_ours = is_write and os.getpid() == process and str(arguments[0]).startswith(str(folder))
        if is_ours and next(count) == number:
            do()

    sys.addaudithook(watch)


def limit_memory(size: int) -> None:
    """Let allocations fail once the process holds this many bytes more than now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_AS, pages * resource.getpagesize() + size)


# ---- disturbances: each gives what the disturbed command line said


def kill_at_a_moment(number: int, place: Place, known: Path, random: Random) -> tuple[int | None, str]:
    return place.run(kill=(number, random.uniform(0, 3)))


def kill_at_a_write(number: int, place: Place, known: Path, random: Random) -> tuple[int | None, str]:
    die = partial(signal.raise_signal, number)
    return place.run(partial(at_write, place.outputs, random.randint(1, 60), die))


def fill_the_disk(place: Place, known: Path, random: Random) -> tuple[int | None, str]:
    return place.run(partial(limit, resource.RLIMIT_FSIZE, int(2 ** random.uniform(8, 18))))


def leave_little_memory(place: Place, known: Path, random: Random) -> tuple[int | None, str]:
    starve = partial(limit_memory, int(2 ** random.uniform(16, 27)))
    return place.run(partial(at_write, place.outputs, random.randint(1, 60), starve))


def damage(harm: Callable[[Path, int], object], place: Place, known: Path, random: Random) -> tuple[int, str]:
    """Damage a file of a finished run; half the time its results are gone, so that the file is needed."""
    subprocess.run(["cp", "-a", known, place.outputs], check=True)
    if random.random() < 0.5:
        for name in ("runs", "sweep"):
            shutil.rmtree(place.outputs / name, ignore_errors=True)
    files = sorted(file for file in place.outputs.rglob("*") if file.is_file() and file.stat().st_size)
    file = random.choice(files)
    harm(file, random.randrange(file.stat().st_size))
    return 1, ""


DISTURBANCES: dict[str, Callable[[Place, Path, Random], tuple[int | None, str]]] = {
    "kill -9 at a moment": partial(kill_at_a_moment, signal.SIGKILL),
    "SIGTERM at a moment": partial(kill_at_a_moment, signal.SIGTERM),
    "kill -9 at a write": partial(kill_at_a_write, signal.SIGKILL),
    "SIGINT at a write": partial(kill_at_a_write, signal.SIGINT),
    "a full disk": fill_the_disk,
    "little memory": leave_little_memory,
    "a flipped bit": partial(damage, flip),
    "a zeroed sector": partial(damage, zero),
    "a file cut short": partial(damage, truncate),
    "a deleted file": partial(damage, lambda file, at: file.unlink()),
}


def faults(kind: str, place: Place, known: Path, random: Random) -> list[str]:
    """Disturb a run and repeat its command; return all that is wrong then."""
    code, said = DISTURBANCES[kind](place, known, random)
    wrong = [said[-3000:]] if code is None or "Traceback" in said else []
    wrong += [] if code else changed_rows(place.outputs, known)  # what ended well is right, whatever happened
    code, said = place.run()
    if code and (advice := ADVICE.search(said)):
        shutil.rmtree(advice[1])
        code, said = place.run()
    wrong += [f"the same command ends with {code}: {said[-3000:]}"] if code or "Traceback" in said else []
    wrong += changed_rows(place.outputs, known)
    return wrong + [f"{file} is left" for file in place.outputs.rglob("*") if ".part" in file.name]


def changed_rows(outputs: Path, known: Path) -> list[str]:
    """Return the runs whose rows differ from those of an undisturbed run."""
    wrong = []
    for file in sorted(known.rglob("results.jsonl")):
        name, expected = file.relative_to(known), values(read_rows(file))
        try:
            found = values(read_rows(outputs / name))
        except (ValueError, OSError) as error:
            wrong.append(str(error))
            continue
        if any(key[-1] == OUT_OF_MEMORY for key in found):  # what else there is, is right
            expected = {key: value for key, value in expected.items() if found.get(key) is not None}
            found = {key: found[key] for key in expected}
        if expected.keys() != found.keys() or any(abs(expected[key] - found[key]) > CLOSE for key in found):
            wrong.append(f"{name} has other rows")
    return wrong


def values(rows: list[Row]) -> dict[tuple[str, str, int, str], float]:
    kept = [row for row in rows if row.metric not in MEASURED]
    return {(row.extension, row.protocol, row.length, row.metric): row.value or 0.0 for row in kept}
