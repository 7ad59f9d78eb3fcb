"""What is disturbed: command lines that take a second, in processes that have imported everything already."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import torch

from tests.forked import SERVER, ended, redirected, start
from tests.processes import of_session
from tests.train.conftest import ROOT, SMALL

PATIENCE = 60  # seconds for a command line that takes one or two
Inside = Callable[[], object]  # done in a process before its command line
TINY = [*SMALL, "trainer.max_steps=30", "trainer.checkpoint_every=4", "trainer.log_every=3"]
OTHER = ["seed=1", "model.vocab=320"]  # another run of the same kind
SWEEP = ["hydra.mode=MULTIRUN", "seed=0,1", "jobs=2", "report=null"]


class Line(NamedTuple):
    """A command line without the folders that it works in."""

    arguments: list[str]
    module: str = "train.__main__"


SCENARIOS = {
    "a run": [Line([*TINY, "evaluation.extensions=[pi,crop]", "trainer.keep=[0.5]"])],
    "a run that is fine-tuned": [Line([*TINY, "extension=pi", "extension.finetune_steps=12"])],
    "a task": [
        Line([*TINY, "data=copy", "model.length=41", "evaluation.lengths=[10,20]", "evaluation.problems=20"])
    ],
    "a sweep": [Line([*TINY, *SWEEP])],
    "a long evaluation": [Line([*TINY, "evaluation.ladder=[1,4,64]", "model.kernel=reference"])],
    "an evaluation": [Line(TINY), Line(["trainer=cpu", "evaluation.extensions=[yarn]"], "train.evaluate")],
}


class Ended(NamedTuple):
    """How a command line ended, and what it said."""

    code: int | None  # None: it hung
    said: str


@dataclass
class Place:
    """A folder in which command lines are carried out; `text` is read by all of them."""

    folder: Path
    text: Path
    session: int = 0  # of the last process

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs"

    @property
    def temporary(self) -> Path:
        return self.folder / "temporary"

    def arguments(self, lines: list[Line], number: int) -> list[str]:
        given = [*lines[number].arguments, f"outputs={self.outputs}"]
        if number:  # of what the first line trained; its path is a part of what names an evaluation
            (run,) = (self.outputs / "runs").iterdir()
            return [*given, f"run=outputs/runs/{run.name}"]
        return given if "data=copy" in given else [*given, f"data.path={self.text}"]

    def begin(self, lines: list[Line], number: int, *inside: Inside, **environment: str) -> BaseProcess:
        """Start a line in a session of its own; its output goes to files."""
        for folder in (self.outputs, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        for file in self.said:
            file.unlink(missing_ok=True)
        told = {
            "WANDB_MODE": "disabled",
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(ROOT),
        } | environment
        call = self.folder, inside, lines[number].module, self.arguments(lines, number)
        process = SERVER.Process(target=redirected, args=(self.said, told, carried_out, call))
        start(process)
        self.session = process.pid or 0
        return process

    @property
    def said(self) -> list[Path]:
        return [self.folder / "out", self.folder / "err"]

    def end(self, process: BaseProcess) -> Ended:
        code = ended(process, PATIENCE)
        if code is None:
            process.kill()
            ended(process, PATIENCE)
        return Ended(code, "".join(file.read_text(errors="replace") for file in self.said if file.exists()))

    def orphans(self) -> list[int]:
        """Processes of the last line that outlive it by more than a moment."""
        end = time.monotonic() + PATIENCE
        while (left := self.alive()) and time.monotonic() < end:
            time.sleep(0.05)
        return left

    def alive(self) -> list[int]:
        return (of_session(self.session) if self.session else []) + self.services()

    def services(self) -> list[int]:
        """Processes in sessions of their own that have a file in the temporary folder, as W&B's has."""
        lines = subprocess.check_output(["ps", "-ewwo", "pid=,args="], text=True).splitlines()
        return [int(line.split()[0]) for line in lines if str(self.temporary) in line]


def carried_out(folder: Path, inside: tuple[Inside, ...], module: str, arguments: list[str]) -> None:
    os.setsid()
    os.chdir(folder)
    torch.set_num_threads(1)
    tempfile.tempdir = None  # TMPDIR was read by the process that this one was forked from
    for one in inside:
        one()
    sys.argv = [module, *arguments]
    import_module(module).entry()
