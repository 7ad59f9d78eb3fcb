"""The interface of a launcher: it starts jobs, and each tells how it ended."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from train.config.schema import Config
from train.launch import resources as shares
from train.launch.resources import Share
from train.launch.worker import Job


class Started(Protocol):
    """A job on its way."""

    def code(self) -> int | str | None:
        """Its exit code, or what became of its worker; None until it ends."""

    def stop(self) -> None:
        """Ask it to write its state and end."""

    def kill(self) -> None: ...


@dataclass(frozen=True)
class Launcher:
    start: Callable[[Job, Share], Started]
    width: Callable[[Config], int] = shares.width  # how many jobs at a time
    batch: Callable[[], AbstractContextManager[None]] = nullcontext  # around all starts
    every: float = 0.05  # seconds between two looks at the jobs


@dataclass(frozen=True)
class Here:
    """A process that this one started."""

    process: BaseProcess

    def code(self) -> int | None:
        return self.process.exitcode

    def stop(self) -> None:
        self.process.terminate()

    def kill(self) -> None:
        self.process.kill()


@dataclass(frozen=True)
class Elsewhere:
    """The process of a worker, which belongs to whoever started that."""

    future: Any  # done(), and result() or for several tasks results()
    ask: Callable[[], object]  # to end

    def code(self) -> int | str | None:
        if not self.future.done():
            return None
        try:
            codes = self.future.results() if hasattr(self.future, "results") else [self.future.result()]
        except Exception as error:  # of submitit and ray, which have none in common
            return str(error).partition("\n")[0].strip() or type(error).__name__
        return int(max(codes, key=abs))

    def stop(self) -> None:
        if not self.future.done():
            self.ask()

    def kill(self) -> None:
        """Do nothing: whoever started the worker ends it."""
