"""The exit codes of a run's processes: the parent reports which one died, and how."""

import os
import subprocess
import sys
import time
from threading import Thread

from lightning.pytorch import Callback, LightningModule, Trainer

from train.runtime.signals import ending, handle

GRACE = 10.0  # seconds in which a lost connection shows; NCCL may hang instead


class ExitCodes(Callback):
    """Turns the exit code of a child process into one sentence; torchrun and SLURM do this for theirs."""

    def __init__(self) -> None:
        self.children: dict[int, subprocess.Popen[bytes]] = {}  # by rank

    def setup(self, trainer: Trainer, module: LightningModule, stage: str) -> None:
        """Watch the children in place of Lightning's observer, which kills this process without a message."""
        processes = getattr(trainer.strategy.launcher, "procs", [])
        self.children = dict(enumerate(processes, trainer.global_rank + 1))
        processes.clear()
        if self.children:
            Thread(target=self.watch, name="exit-codes", daemon=True).start()

    def on_exception(self, trainer: Trainer, module: LightningModule, exception: BaseException) -> None:
        """Raise ChildProcessError if a connection is lost because a child process ended."""
        if trainer.world_size == 1 or not isinstance(exception, RuntimeError):
            return
        handle()  # the training, which would end after its step, is over
        end = time.monotonic() + (GRACE / 2 if self.children or trainer.local_rank else 0)
        while time.monotonic() < end:  # in a child, for the parent to stop it
            if failure := self.failure():
                raise ChildProcessError(failure) from exception
            time.sleep(0.05)

    def failure(self) -> str | None:
        """Return which child process failed, and how; one that was killed by a signal comes first."""
        codes = {rank: child.poll() for rank, child in self.children.items()}
        failed = sorted((code, rank) for rank, code in codes.items() if code)
        return f"Process {failed[0][1]} of this run {ending(failed[0][0])}." if failed else None

    def watch(self) -> None:
        """End this process and its children if a child failed and this process hangs."""
        while not (failure := self.failure()):
            time.sleep(1)
        time.sleep(GRACE)
        print(f"yardstick: {failure}", file=sys.stderr, flush=True)
        for child in self.children.values():
            child.kill()
        os._exit(1)
