"""The scenarios: command lines that take a second, in processes that have imported everything already."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tests.processes import exit_code, process_fields, session_processes, start
from tests.train.conftest import ROOT, SMALL

PATIENCE = 60  # seconds for a command line that takes one or two
WRITES = {"open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate"}
Inside = Callable[[], object]  # done in a process before its command line
TINY = [*SMALL, "trainer.max_steps=30", "trainer.checkpoint_every=4", "trainer.log_every=3"]
OTHER = ["seed=1", "model.vocab=320"]  # another run of the same kind
SWEEP = ["hydra.mode=MULTIRUN", "seed=0,1", "jobs=2", "report=null"]
TASK = ["data=copy", "model.length=41", "evaluation.lengths=[10,20]", "evaluation.problems=20"]
EVALUATION = "train.evaluate"
SCENARIOS = {
    "a run": [[*TINY, "evaluation.extensions=[pi,crop]", "trainer.keep=[0.5]"]],
    "a run that is fine-tuned": [[*TINY, "extension=pi", "extension.finetune_steps=12"]],
    "a task": [[*TINY, *TASK]],
    "a sweep": [[*TINY, *SWEEP]],
    "a long evaluation": [[*TINY, "evaluation.ladder=[1,4,64]", "model.kernel=reference"]],
    "an evaluation": [TINY, [EVALUATION, "trainer=cpu", "evaluation.extensions=[yarn]"]],
}
"""The arguments of command lines, without the folders that they work in; the last line is disturbed."""


class Ended(NamedTuple):
    """The exit code and the output of a command line."""

    code: int | None  # None: it hung
    said: str


@dataclass
class Place:
    """A folder in which command lines run; all of them read `text`."""

    folder: Path
    text: Path
    session: int = -1  # of the last process

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs"

    @property
    def temporary(self) -> Path:
        return self.folder / "temporary"

    def begin(self, lines: list[list[str]], *inside: Inside, **environment: str) -> BaseProcess:
        """Start the last command line in a session of its own."""
        for folder in (self.outputs, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        arguments = [*lines[-1], f"outputs={self.outputs}"]
        if EVALUATION in arguments:  # of what the first line trained; its path is a part of what names it
            (run,) = (self.outputs / "runs").iterdir()
            arguments.append(f"run=outputs/runs/{run.name}")
        elif "data=copy" not in arguments:
            arguments.append(f"data.path={self.text}")
        if SWEEP[0] in arguments:  # its folder would be named after this one
            arguments.append(f"hydra.sweep.dir={self.outputs}/sweeps/multirun")
        paths = {"TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT)}
        environment = {"WANDB_MODE": "disabled"} | paths | environment
        process = start(self.folder, run_line, self.folder, inside, arguments, **environment)
        self.session = process.pid or 0
        return process

    def end(self, process: BaseProcess) -> Ended:
        code = exit_code(process, PATIENCE)
        files = [self.folder / name for name in ("out", "err")]
        return Ended(code, "".join(file.read_text(errors="replace") for file in files if file.exists()))

    def orphans(self) -> list[int]:
        """Return the processes that outlive the last command line by more than a moment."""
        end = time.monotonic() + PATIENCE
        while (left := session_processes(self.session) + self.services()) and time.monotonic() < end:
            time.sleep(0.05)
        return left

    def services(self) -> list[int]:
        """Return processes of other sessions that hold a file in the temporary folder, as the W&B service
        does."""
        return [int(pid) for pid, line in process_fields("pid=,args=") if str(self.temporary) in line]


def run_line(folder: Path, inside: tuple[Inside, ...], arguments: list[str]) -> None:
    os.setsid()
    os.chdir(folder)
    torch.set_num_threads(1)
    tempfile.tempdir = None  # TMPDIR was read by the process that this one was forked from
    for disturb in inside:
        disturb()
    module = EVALUATION if arguments[0] == EVALUATION else "train.__main__"
    sys.argv = [module, *(argument for argument in arguments if argument != EVALUATION)]
    import_module(module).entry()


def at_each_write(folder: Path, do: Callable[[], object]) -> None:
    """Act before every change to the files of a folder."""
    process, place = os.getpid(), str(folder)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event in WRITES and (event != "open" or arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if writes and os.getpid() == process and str(arguments[0]).startswith(place):
            do()

    sys.addaudithook(watch)


def count_writes(folder: Path, file: Path) -> None:
    """Write a byte to a file for each change."""
    out = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    at_each_write(folder, lambda: os.write(out, b"."))


@dataclass(frozen=True)
class Undisturbed:
    """The outcome of a scenario that nothing disturbs."""

    outputs: Path
    before: Path  # the outputs before the last line
    other: Path  # those of another run
    seconds: float  # of the last line
    writes: int


def undisturbed(lines: list[list[str]], folder: Path, text: Path) -> Undisturbed:
    place, other, counted = Place(folder, text), Place(folder / "other", text), folder / "writes"
    place.outputs.mkdir(parents=True)
    for number in range(1, 1 + len(lines)):
        copy(place.outputs, folder / f"before-{number}")
        watch = partial(count_writes, place.outputs, counted)
        ends = [place.end(place.begin(lines[:number], watch))]
        started = time.perf_counter()
        ends.append(other.end(other.begin([[*lines[0], *OTHER], *lines[1:]][:number])))
        seconds = time.perf_counter() - started
        assert [end.code for end in ends] == [0, 0], ends
    before = folder / f"before-{len(lines)}"
    return Undisturbed(place.outputs, before, other.outputs, seconds, counted.stat().st_size)


def copy(source: Path | str, target: Path) -> None:
    """Copy a folder with its hard links and times."""
    subprocess.run(["cp", "-a", source, target], check=True)
