"""A command line, the folder that it works in, and what it comes to where nothing happens."""

import shutil
import subprocess
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

from tests.chaos.scenarios import Ended, Inside, Line, Place


@dataclass(frozen=True)
class Undisturbed:
    """What a scenario comes to where nothing happens."""

    outputs: Path
    before: Path  # the outputs before the last line
    other: Path  # those of another run
    seconds: float  # of the last line
    writes: int


@dataclass(frozen=True)
class Case:
    """The last line of a scenario, and what happens to it."""

    random: Random
    lines: list[Line]
    place: Place
    of: Undisturbed

    def ended(self, *inside: Inside, **environment: str) -> list[Ended]:
        return [self.place.end(self.begin(*inside, **environment))]

    def begin(self, *inside: Inside, **environment: str) -> BaseProcess:
        return self.place.begin(self.lines, len(self.lines) - 1, *inside, **environment)

    def wait(self) -> None:
        """For a moment of the line."""
        time.sleep(self.random.uniform(0, self.of.seconds))

    def finished(self) -> list[Ended]:
        """As if the line had been carried out before."""
        shutil.rmtree(self.place.outputs, ignore_errors=True)
        copy(self.of.outputs, self.place.outputs)
        return []


def copy(source: Path | str, target: Path) -> None:
    """With hard links and times, as they are."""
    subprocess.run(["cp", "-a", source, target], check=True)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
